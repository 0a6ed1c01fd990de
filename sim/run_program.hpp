// Collective programs on a cluster, every step an event.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "cost/collectives.hpp"
#include "cost/programs/program.hpp"

namespace tsim::sim {

/// A program over devices: rank i sits on devices[i]. `payload` is S of the nccl-tests convention.
struct ProgramRun {
  const cost::CollectiveProgram* program = nullptr;
  std::vector<int> devices;
  Bytes payload;
  cost::StepCosts costs{};
};

struct ProgramTimes {
  std::vector<Seconds> end;           // by run
  Seconds last;                       // of all
  std::vector<double> channel_bytes;  // all runs together, by channel of the topology
  std::uint64_t sends = 0;
};

/// Starts all runs at time 0 on the same wires, where steps share bandwidth with those that they
/// meet, of their own program or another. A step's bytes take their time over the path first, then
/// its latency. Throws std::invalid_argument, naming the steps, for a program that waits for
/// itself, and cost::Unreachable.
ProgramTimes run_programs(std::span<const ProgramRun> runs, cost::Router& router);

/// A planner's algorithm over `devices`, alone on the wires.
struct StepsRequest {
  cost::CollectiveOp op{};
  std::string_view algorithm;
  std::vector<int> devices;
  Bytes payload;
  cost::StepCosts costs{};
};

/// Runs the steps of cost::program_on(); none where the algorithm has no steps. Rings side by side
/// that are images of each other in the wiring are simulated as one of them, with the loads of all:
/// exact, and as many times quicker. `sends` counts what was simulated.
std::optional<ProgramTimes> run_steps(const StepsRequest& request, cost::Router& router);

}  // namespace tsim::sim
