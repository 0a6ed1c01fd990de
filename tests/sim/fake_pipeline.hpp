// Stages with given phase durations on a star of devices: schedules without a model.
#pragma once

#include <vector>

#include "cost/topology.hpp"
#include "strategies/build_tasks.hpp"
#include "strategies/schedule.hpp"

namespace tsim::testing {

/// `devices` on one switch with full-duplex links.
inline cost::Topology star(int devices, BytesPerSecond bandwidth, Seconds latency = {}) {
  cost::Topology t;
  t.vertices.push_back({cost::VertexKind::nvswitch, "switch", 0});
  for (int d = 0; d < devices; ++d) {
    t.vertices.push_back({cost::VertexKind::device, "gpu" + std::to_string(d), 0});
    t.links.push_back({cost::LinkKind::nvlink, d + 1, 0, bandwidth, latency / 2.0, true});
    t.devices.push_back(d + 1);
    t.device_kind.push_back(0);
  }
  cost::finish(t);
  return t;
}

inline strategies::Program one_step(strategies::Phase phase, double seconds,
                                    std::int64_t bucket = 0) {
  strategies::Step step;
  step.phase = phase;
  step.duration = Seconds{seconds};
  step.bucket = bucket;
  return {{step}, {0}};
}

struct Phases {
  double forward = 1, backward = 1;
  double weight_grad = -1;  // of the backward; negative: half of it
};

/// Equal chunks: `phases` is the time of a whole stage, or of one copy when the model is held
/// twice. One byte of activations a chunk, kept until the weight gradient is made.
inline std::vector<strategies::StagePlan> equal_stages(const strategies::Strategy& s, Phases phases,
                                                       Bytes message = {}) {
  std::vector<strategies::StagePlan> stages(static_cast<std::size_t>(s.pipeline));
  const bool copies = shape_of(s, 1).placement == strategies::Placement::bidirectional;
  const double v = copies ? 1 : s.chunks;
  const double weights = phases.weight_grad < 0 ? phases.backward / 2 : phases.weight_grad;
  for (strategies::StagePlan& stage : stages) {
    for (int c = 0; c < s.chunks; ++c) {
      strategies::ChunkPlan chunk;
      chunk.layers = 1;
      chunk.forward = one_step(strategies::Phase::forward, phases.forward / v);
      chunk.backward = one_step(strategies::Phase::backward, phases.backward / v);
      chunk.last_backward = chunk.backward;
      chunk.input_grad = one_step(strategies::Phase::input_grad, (phases.backward - weights) / v);
      chunk.weight_grad = one_step(strategies::Phase::weight_grad, weights / v);
      chunk.last_weight_grad = chunk.weight_grad;
      chunk.input = chunk.output = message;
      chunk.activations = chunk.weight_activations = Bytes{1};
      stage.chunks.push_back(chunk);
    }
  }
  return stages;
}

}  // namespace tsim::testing
