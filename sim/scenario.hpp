// One question: a model, a workload, a cluster and a strategy.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cost/topology.hpp"
#include "models/model.hpp"
#include "strategies/slowdown.hpp"
#include "strategies/strategy.hpp"

namespace tsim::sim {

struct Workload {
  std::int64_t global_batch = 1;  // samples per iteration over all replicas
  std::int64_t micro_batch = 1;   // samples of one micro-batch on one replica
  std::int64_t sequence = 0;      // 0: the model's default
  std::int64_t decoder_sequence = 0;
  bool training = true;  // false: forward only, micro-batches streamed
  bool dropout = true;
  std::int64_t vocab_multiple = 1;  // the vocabulary is padded to this times the tensor degree
  bool operator==(const Workload&) const = default;
};

/// Which symmetric ranks are simulated once: none, or all that nothing tells apart.
enum class Fold : std::uint8_t { none, automatic };

struct Scenario {
  std::string name;
  std::string description;
  std::vector<std::string> assumptions;  // printed with the answer
  models::ModelConfig model;             // vocabulary already padded
  std::int64_t unpadded_vocab = 0;
  Workload workload;
  cost::Cluster cluster;
  strategies::Strategy strategy;
  Fold fold = Fold::automatic;
  std::vector<double> slowdown;  // by device: its computations last so many times as long; empty:
                                 // none is slow
  strategies::Jitter jitter;     // already in `slowdown`, with draw 0
  double allowance = 0.0;        // share of the peak added for fragmentation; shown on its own line
  std::vector<std::string> warnings;  // accepted, but worth a second look
};

/// Micro-batches that one pipeline runs in an iteration.
constexpr std::int64_t micro_batches(const Scenario& s) {
  return s.workload.global_batch / (s.workload.micro_batch * s.strategy.data);
}

/// A scenario and the variants it asks to be compared with, the scenario itself first.
struct ScenarioFile {
  Scenario base;
  struct Variant {
    std::string name;
    Scenario scenario;
  };
  std::vector<Variant> variants;
};

}  // namespace tsim::sim
