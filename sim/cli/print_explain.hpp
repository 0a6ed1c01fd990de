// The answer of `tsim explain`: a model operator by operator.
#pragma once

#include <array>
#include <iosfwd>
#include <optional>
#include <vector>

#include "cost/device.hpp"
#include "models/explain.hpp"
#include "models/model.hpp"

namespace tsim::cli {

/// A model's work, and its time where a device was named.
struct Explained {
  models::ModelConfig config;
  models::BuildOptions options;
  models::Fusion fusion{};
  std::int64_t tokens = 0;  // of one sample
  models::Explanation explanation;
  std::optional<cost::Device> device;
};

/// Time of one class of operators, forward and backward of one micro-batch, kernel by kernel.
using ClassTimes = std::array<Seconds, 3>;  // in the order of OpClass
ClassTimes class_times(const models::Explanation& explanation, const cost::Device& device);

void print_explain_text(const Explained& explained, std::ostream& out);

/// {"version": 1, "model": ..., "classes": [...], "blocks": [{"kernels": [...]}]}; sizes in bytes,
/// times in seconds. A block's figures are those of one of its `count` copies.
void print_explain_json(const Explained& explained, std::ostream& out);

}  // namespace tsim::cli
