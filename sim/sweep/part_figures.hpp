// What one chunk of a pipeline takes and keeps, as numbers that are quick to add up.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "strategies/program_clock.hpp"
#include "strategies/stage_plan.hpp"
#include "strategies/strategy.hpp"

namespace tsim::sim {

/// Seconds of a phase of one micro-batch, up to its exits.
enum class PartTime : std::uint8_t {
  forward,
  backward,
  input_grad,
  weight_grad,
  last_exits,  // of the last backward, where it sends gradients itself
  last_all,    // and of all that it sends
  last_weight_exits,
  last_weight_all
};
inline constexpr std::size_t kPartTimes = 8;

/// Bytes, and elements of weights.
enum class PartSize : std::uint8_t {
  kept,           // by a forward for its backward: activations, logits
  forward_peak,   // most that a forward adds to what there was
  backward_peak,  // most that a backward adds to that, its forward's included in that
  input_peak,     // the same, of the first part of one in two parts
  waiting,        // kept from that to the second part
  input,
  output,
  elements,  // trained, the word embedding included
  whole,     // of these, kept on every rank although others are sharded
  frozen,    // not trained, without the word embedding
  frozen_whole,
  frozen_embedding
};
inline constexpr std::size_t kPartSizes = 12;

/// A gradient bucket that is full so long after the last backward's start.
struct Bucket {
  double at = 0;
  std::int64_t elements = 0;
};

/// Buckets of a backward: `head`, then `period` again and again, then `tail`. Times of each list
/// count from where it starts; a list's own length is `..._time`.
struct Buckets {
  std::vector<Bucket> head, period, tail;
  double head_time = 0, period_time = 0, tail_time = 0;
  int repeats = 0;
};

struct PartFigures {
  std::array<double, kPartTimes> times{};
  std::array<std::int64_t, kPartSizes> sizes{};
  Buckets buckets, weight_buckets;  // of the last backward, whole and its second part
  std::vector<strategies::SharedGradients> shared;  // of the part

  double operator[](PartTime t) const { return times[static_cast<std::size_t>(t)]; }
  double& operator[](PartTime t) { return times[static_cast<std::size_t>(t)]; }
  std::int64_t operator[](PartSize s) const { return sizes[static_cast<std::size_t>(s)]; }
  std::int64_t& operator[](PartSize s) { return sizes[static_cast<std::size_t>(s)]; }
};

/// Of a chunk on `stage`; without elements, which are its stage's. Buckets are all in `head`.
PartFigures figures_of(const strategies::ChunkPlan& chunk, const strategies::Strategy& strategy,
                       bool training, strategies::ProgramClock& clock, int stage);

/// What parts of the tensor group of `stage` take to add up the gradients that they share.
double shared_time(const std::vector<strategies::SharedGradients>& shared,
                   const strategies::Strategy& strategy, int stage,
                   strategies::CollectiveTimes& times);

}  // namespace tsim::sim
