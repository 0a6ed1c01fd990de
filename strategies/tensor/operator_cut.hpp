// How one operator is cut over a tensor group, in the notation of PanGu-alpha and MindSpore.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/op_graph.hpp"
#include "strategies/tensor/tensor_split.hpp"

namespace tsim::strategies {

/// "((4,1),(1,1))" with any spaces, or "(4,1)" for a single operand; none when it is not that.
std::optional<OperandFactors> parse_factors(std::string_view text);
std::string to_string(const OperandFactors& factors);

/// Factors of the axes that an operator's operands have, in the order in which operands name them.
/// Axes that are cut together count as one: query and key/value heads, a gate's two halves.
using AxisFactors = std::vector<std::pair<models::Axis, int>>;

/// The axis that stands for all that are cut together with it.
models::Axis cut_axis(models::Axis axis);
int factor_of(const AxisFactors& factors, models::Axis axis);

/// What is wrong with a cut: what was found and what may stand there.
struct CutProblem {
  std::string found, expected, hint;
};

/// A cut, or why there is none.
struct AxisCut {
  AxisFactors factors;
  std::optional<CutProblem> problem;
};

/// The axes' factors of `op` when its operands are cut as `operands` says. An operand has a factor
/// for every axis; those of a product with a weight may be matrices of two instead, [rows, summed]
/// and [summed, columns], whose factors then cut the batch before the sequence, and heads. The
/// operands that have no gradient (ids, masks) may be left out. Every factor is a power of two, as
/// in MindSpore, divides its axis, and is the same for all operands that have the axis; together
/// they divide `ranks`.
AxisCut axis_cut(const models::OpGraph& graph, const models::Op& op, const OperandFactors& operands,
                 int ranks);

}  // namespace tsim::strategies
