// One phase of one micro-batch on one rank as few steps as possible: computes between
// communications.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "strategies/piece.hpp"
#include "strategies/zero.hpp"

namespace tsim::strategies {

struct Step {
  bool is_comm = false;
  Phase phase{};
  std::vector<int> after;  // earlier steps; none: it may start when the phase may
  MemoryEffect memory;     // at its start and its end
  // compute
  Seconds duration;  // on the device
  Seconds host;      // until the host has launched it, from when it has launched what is before
  Flops model_flops, hardware_flops;
  std::int64_t bucket = 0;  // > 0: a bucket of so many gradient elements is complete at its end
  bool of_experts = false;  // they are experts'
  // communication
  int swap = 0;              // as in Piece
  std::int64_t to_host = 0;  // > 0: the host has all of so many elements' gradients at its end
  Communication comm;
};

struct Program {
  std::vector<Step> steps;
  std::vector<int> exits;  // the phase is over when these are
};

/// Gradient elements in a bucket before it is sent; zero limits: nothing is cut.
struct BucketLimits {
  std::int64_t first = 0;
  std::int64_t others = 0;
  /// What sends a full bucket, one after another; empty: the steps are only marked, and whoever
  /// reads them sends.
  std::vector<GradientSend> sends = {};
  std::vector<GradientSend> expert_sends = {};  // the same, of experts that are spread otherwise
  bool dense = true;                            // which gradients are sent at all
  bool experts = true;
  Bytes gradient = {};     // of an element as it waits to be sent: allocated when it is made, freed
                           // with the last of `sends`
  bool completes = false;  // the gradients that are sent have been added up over micro-batches
};

/// Host time to issue a kernel. Hooks are the framework's code, and at the forward's rate.
struct HostTimes {
  Seconds forward;  // and recomputation
  Seconds backward;
  Seconds collective = {};  // to issue a communication, where the host blocks
  bool blocks = false;      // it issues nothing until what it has issued is done
};

/// Joins pieces that nothing separates.
Program make_program(std::span<const Piece> pieces, const HostTimes& host,
                     const BucketLimits& buckets = {});

/// Of the compute steps: what they take on the device, or the host to launch them if that is
/// longer.
Seconds compute_time(const Program& program);

/// The first step that computes; all of them: none does.
std::size_t first_compute(const Program& program);

/// Whether a step is what a message to the phase starts: a communication of parameters or with the
/// host need not wait for it.
bool reads_input(const Step& step);

}  // namespace tsim::strategies
