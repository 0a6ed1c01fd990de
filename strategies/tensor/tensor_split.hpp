// How a strategy splits the work of a layer over a tensor group, as data.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace tsim::strategies {

/// Factors by operand (inputs, then weights) and dimension: ((4,1),(1,1)) cuts the rows of a
/// product's left matrix four ways and repeats the right one   [arXiv:2104.12369, sec. 4].
using OperandFactors = std::vector<std::vector<int>>;

/// Cuts by operator name.
using OperatorCuts = std::map<std::string, OperandFactors>;

/// side x side x depth ranks; rank = (layer x side + row) x side + column. Side 1: no grid.
struct TensorGrid {
  int side = 1;
  int depth = 1;
  bool operator==(const TensorGrid&) const = default;
};
constexpr bool is_grid(const TensorGrid& grid) { return grid.side > 1; }

}  // namespace tsim::strategies
