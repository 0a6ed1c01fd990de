// Scenarios made in code: a device with round figures, a DGX-like cluster, any model.
#pragma once

#include "cost/build_cluster.hpp"
#include "models/registry.hpp"
#include "sim/report/report.hpp"
#include "sim/scenario.hpp"
#include "sim/simulation.hpp"

namespace tsim::testing {

using namespace tsim::literals;

/// 312 TFLOP/s, 80 GiB, 2 TB/s; every kernel reaches its roofline.
inline cost::Device ideal_a100() {
  cost::Device d;
  d.name = "ideal-a100";
  d.memory = 80_GiB;
  d.memory_bandwidth = 2000_GBps;
  d.matrix_peaks = {{models::DType::fp16, 312_TFLOPs}, {models::DType::bf16, 312_TFLOPs}};
  d.vector_peak = 19_TFLOPs;
  d.gemm = {.ceiling = 1.0, .tile_m = 1, .tile_n = 1, .units = 1, .half_k = 0};
  return d;
}

inline cost::Cluster dgx(int devices) {
  const int per_node = devices < 8 ? devices : 8;
  return cost::build_cluster(
      {.name = "dgx",
       .device = ideal_a100(),
       .nodes = devices / per_node,
       .devices_per_node = per_node,
       .node = {.bandwidth = 300_GBps, .latency = 2_us},
       .network = {.nics_per_node = per_node, .bandwidth = 200_Gbps, .latency = 5_us}});
}

struct Degrees {
  int tensor = 1, pipeline = 1, data = 1;
};

/// The named model on just as many devices, 16 bit with fp32 gradients, layers even.
inline sim::Scenario sample(std::string_view model, Degrees degrees, std::int64_t global_batch,
                            std::int64_t micro_batch) {
  sim::Scenario s;
  s.name = std::string(model);
  s.model = models::model_named(model).value();
  s.unpadded_vocab = s.model.vocab;
  s.workload.global_batch = global_batch;
  s.workload.micro_batch = micro_batch;
  s.strategy.tensor = degrees.tensor;
  s.strategy.pipeline = degrees.pipeline;
  s.strategy.data = degrees.data;
  s.strategy.split = strategies::LayerSplit::even;
  s.strategy.precision.gradient = models::DType::fp32;
  s.strategy.precision.reduction = models::DType::fp32;
  s.cluster = dgx(world_size(s.strategy));
  return s;
}

/// The scenario with its ranks all simulated.
inline sim::Scenario unfolded(sim::Scenario s) {
  s.fold = sim::Fold::none;
  return s;
}

inline sim::Report answer(const sim::Scenario& s) { return summarise(s, run_scenario(s)); }

struct AnsweredRun {
  sim::Simulation simulation;
  sim::Report report;
};

inline AnsweredRun run_and_answer(const sim::Scenario& s) {
  AnsweredRun result{run_scenario(s), {}};
  result.report = summarise(s, result.simulation);
  return result;
}

}  // namespace tsim::testing
