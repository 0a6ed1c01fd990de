// Runs a pipeline of equal stages over an ideal network.
#pragma once

#include "sim/ideal_network.hpp"
#include "sim/memory_trace.hpp"
#include "sim/replay.hpp"
#include "strategies/closed_form.hpp"
#include "tests/sim/fake_pipeline.hpp"

namespace tsim::testing {

using namespace tsim::strategies;

struct Result {
  TaskGraph graph;
  sim::Timeline timeline;
  ClosedForm closed;
};

inline Result run(const Strategy& s, const std::vector<StagePlan>& stages, int micro_batches,
                  const cost::Topology& topology, FoldedAxes folded = {}) {
  cost::Router router(topology);
  const BuildInput input{.strategy = s,
                         .stages = stages,
                         .topology = topology,
                         .router = router,
                         .micro_batches = micro_batches,
                         .folded = folded};
  Result result{build_tasks(input), {}, closed_form(input)};
  sim::IdealNetwork network(result.graph, topology.channels);
  result.timeline = sim::replay(result.graph, network);
  return result;
}

inline Strategy pipeline(int stages, std::string_view schedule, int chunks = 0) {
  Strategy s;
  s.pipeline = stages;
  s.schedule = schedule;
  s.gradient_clipping = false;  // its all-reduce is none of a schedule's
  const Schedule& named = *schedule_named(schedule);
  s.chunks = chunks > 0 ? chunks : (named.chunks > 0 ? named.chunks : named.usual_chunks);
  return s;
}

inline double makespan(const Strategy& s, Phases phases, int micro_batches) {
  const auto topology = star(world_size(s), BytesPerSecond{1e9});
  return run(s, equal_stages(s, phases), micro_batches, topology).timeline.makespan.value;
}

/// Most bytes of activations that each stage holds: one for each chunk's micro-batch.
inline std::vector<std::int64_t> activation_peaks(const Result& result) {
  std::vector<std::int64_t> held;
  for (const auto& peak : sim::memory_peaks(result.graph, result.timeline)) {
    held.push_back(peak.at_peak[static_cast<std::size_t>(MemoryClass::activations)].value);
  }
  return held;
}

}  // namespace tsim::testing
