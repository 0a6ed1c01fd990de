// Low-rank adapters beside frozen weights.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tsim::models {

/// Adapters   [arXiv:2106.09685, sec. 4.1]: a product W x of a frozen weight gets B A x added, of
/// `rank` columns between A and B. Nothing else of the model is trained.
struct LoraConfig {
  std::int64_t rank = 0;                  // 0: no adapters, everything is trained
  std::vector<std::string> targets = {};  // names of products; empty: all of attention and of dense
                                          // MLPs
  double dropout = 0.0;                   // of what enters A
  bool operator==(const LoraConfig&) const = default;
};

}  // namespace tsim::models
