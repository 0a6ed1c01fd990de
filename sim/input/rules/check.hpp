// What a rule between the parts of a scenario reads, and where it complains.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "sim/input/input_error.hpp"
#include "sim/scenario.hpp"

namespace tsim::sim {

/// What is checked, what the reading found wrong already, and where problems go.
struct Check {
  const Scenario& scenario;
  const Problems& read;
  Problems& problems;

  /// True when these parts were read without a problem.
  bool clean(std::initializer_list<std::string_view> paths) const { return read.clean(paths); }
  void fail(std::string path, std::string found, std::string expected,
            std::string hint = {}) const {
    problems.add({.path = std::move(path),
                  .found = std::move(found),
                  .expected = std::move(expected),
                  .hint = std::move(hint),
                  .file = {}});
  }
};

inline std::string text(std::int64_t n) { return std::to_string(n); }

/// How context ranks divide the sequence (check_context.cpp).
void check_context(const Check& check);

/// How states are sharded over replicas (check_sharding.cpp).
void check_zero(const Check& check);

/// What is kept elsewhere, and what is computed again (check_offload.cpp).
void check_offload(const Check& check);

/// Operators that run again or keep what they need in another format (check_kept.cpp).
void check_kept(const Check& check);

/// Layers with widths of their own (check_stages.cpp).
void check_stages(const Check& check);

/// Every stage, or every chunk of one, has a layer at least, or an end of the model
/// (check_layers.cpp).
void check_layers(const Check& check);

/// An encoder-decoder cut between its two halves: stages for each, layers for each stage
/// (check_layers.cpp).
void check_encoder_stages(const Check& check);

/// How experts are spread over ranks (check_experts.cpp).
void check_experts(const Check& check);

/// How layers with low-rank adapters may be split (check_adapters.cpp).
void check_adapters(const Check& check);

/// How layers are split over the tensor group (check_tensor_split.cpp).
void check_tensor_split(const Check& check);

}  // namespace tsim::sim
