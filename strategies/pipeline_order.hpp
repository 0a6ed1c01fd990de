// Which stage holds which part of the model, and in which order it runs what.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "strategies/task_graph.hpp"

namespace tsim::strategies {

/// Where the chunks of p stages sit in the model.
///  loop           chunk c of stage s is part c p + s
///  wave           every other chunk runs backwards through the stages: with two chunks a V
///  bidirectional  two copies of the model: chunk 0 of stage s is part s, chunk 1 part p - 1 - s;
///                 a micro-batch passes one of them
enum class Placement : std::uint8_t { loop, wave, bidirectional };
std::string_view name_of(Placement placement);

struct PipelineShape {
  int stages = 1;         // p >= 1
  int micro_batches = 1;  // m >= 1
  int chunks = 1;         // v >= 1 model chunks of every stage; 2 when bidirectional
  Placement placement = Placement::loop;
  int group = 0;  // micro-batches that pass a chunk one after another when interleaved; 0: p
};

/// A chunk of a stage.
struct Seat {
  int stage = 0;
  int chunk = 0;
  bool operator==(const Seat&) const = default;
};

/// Parts that the model is cut into: p v, or p when bidirectional.
int part_count(const PipelineShape& shape);
/// The part of the model, 0 <= part < part_count, that `seat` holds.
int part_of(const PipelineShape& shape, Seat seat);
/// Where an activation goes next (step = 1) or came from (-1); none at the ends of the model.
std::optional<Seat> neighbour(const PipelineShape& shape, Seat seat, int step);
/// Seats counted chunk by chunk: 0 <= seat_index < p v.
constexpr int seat_index(const PipelineShape& shape, Seat seat) {
  return seat.chunk * shape.stages + seat.stage;
}

/// One phase of one micro-batch on one chunk of a stage: `forward`, `backward` (of inputs and
/// weights in one), `input_grad` or `weight_grad`.
struct Action {
  Phase phase{};
  int micro_batch = 0;
  int chunk = 0;
  bool paired = false;  // runs as one with the action after it: waits for what either waits for
  bool operator==(const Action&) const = default;
};
using StageOrder = std::vector<Action>;
using PipelineOrder = std::vector<StageOrder>;  // by stage

/// Whether an action computes the gradient that goes back to the part before.
constexpr bool makes_input_grad(Phase phase) {
  return phase == Phase::backward || phase == Phase::input_grad;
}

/// Forward-only streaming through a loop: p micro-batches pass chunk 0, then chunk 1, ...
StageOrder forward_only(const PipelineShape& shape);

}  // namespace tsim::strategies
