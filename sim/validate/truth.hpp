// Published and measured rows: what was run, what it took, and what its source leaves open.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/units.hpp"

namespace tsim::validate {

/// What a source prints of a run's speed. Everything is turned into the time of a step.
enum class Figure : std::uint8_t {
  none,                          // memory or a verdict alone
  step,                          // seconds
  tokens_per_second,             // of the whole cluster
  tokens_per_second_per_device,  //
  samples_per_second,            // of the whole cluster
  model_flops,                   // FLOP/s per device, papers' count without recomputation
  recomputed_flops,              // the same with the recomputed forward, Figure's formula below
  bus_bandwidth                  // of a collective, bytes/s as nccl-tests counts them
};

/// How a source read memory.
enum class MemoryReading : std::uint8_t {
  allocated,  // peak of the framework's allocator
  used        // of the device: with the context and the allocator's cache
};

struct Measured {
  Figure figure = Figure::none;
  double value = 0;       // in the figure's unit
  double resolution = 0;  // the last digit's step, in the same unit; 0: not coarse
  std::optional<Bytes> memory{};
  MemoryReading reading = MemoryReading::allocated;
  bool first_stage = false;  // memory of the pipeline's first stage, not of the fullest
  std::optional<bool> fits{};
};

/// One legal reading of a row: a scenario, or a collective on a cluster, as JSON.
struct Choice {
  std::string label;  // "chunks 2"; empty when the source leaves nothing open
  std::string document;
};

struct Row {
  std::string id{};
  std::string note{};   // what weakens it; may be empty
  std::string needs{};  // what has to be modelled first ("fp4"): it is not run
  bool weak = false;    // read off a chart, or not verified: shown and not counted
  bool fitted = false;  // figures of tsim's files come from it
  Measured measured{};
  std::vector<Choice> choices{};  // one at least
  bool collective = false;        // the documents are collectives
};

/// Errors at most; what is absent is not bounded.
struct Bounds {
  std::optional<double> step{};      // mean absolute error
  std::optional<double> bias{};      // absolute value of the mean signed error
  std::optional<double> memory{};    // mean absolute error
  std::optional<double> verdicts{};  // share right, at least
  std::optional<double> coverage{};  // share of rows that run, at least
};

struct Source {
  std::string name{};      // of its file
  std::string title{};     // "Korthikanti et al., table 5"
  std::string citation{};  // where the figures were printed
  std::vector<std::string> notes{};
  Bounds promise{};  // a broken one fails `tsim validate`
  Bounds goal{};     // a missed one is reported
  std::vector<Row> rows{};
  std::filesystem::path file{};
};

}  // namespace tsim::validate
