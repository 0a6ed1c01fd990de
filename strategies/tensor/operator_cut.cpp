#include "strategies/tensor/operator_cut.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>

#include "strategies/tensor/tensor_layout.hpp"

namespace tsim::strategies {
namespace {

using models::Axis;
using models::Op;
using models::Operand;
using models::OpGraph;
using models::Shape;

constexpr int kMostFactor = 1'000'000;

/// Reads the notation, one character after the other.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::optional<OperandFactors> all() {
    OperandFactors factors;
    if (!take('(')) { return std::nullopt; }
    const bool single = !next_is('(');
    at_ = single ? 0 : at_;
    do {
      std::optional<std::vector<int>> operand = tuple();
      if (!operand) { return std::nullopt; }
      factors.push_back(std::move(*operand));
    } while (!single && take(',') && next_is('('));
    if (!single && !take(')')) { return std::nullopt; }
    skip();
    return at_ == text_.size() ? std::optional(factors) : std::nullopt;
  }

 private:
  std::optional<std::vector<int>> tuple() {
    std::vector<int> numbers;
    if (!take('(')) { return std::nullopt; }
    do {
      if (!numbers.empty() && next_is(')')) { break; }  // "(4,)" as Python writes it
      const std::optional<int> n = number();
      if (!n) { return std::nullopt; }
      numbers.push_back(*n);
    } while (take(','));
    return take(')') ? std::optional(numbers) : std::nullopt;
  }

  std::optional<int> number() {
    skip();
    int value = 0;
    const char* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc{} || value < 1 || value > kMostFactor) { return std::nullopt; }
    at_ += static_cast<std::size_t>(end - begin);
    return value;
  }

  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') { ++at_; }
  }
  bool next_is(char c) {
    skip();
    return at_ < text_.size() && text_[at_] == c;
  }
  bool take(char c) {
    const bool found = next_is(c);
    at_ += found ? 1 : 0;
    return found;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

/// One operand's axes, and the factor of each.
struct CutOperand {
  Shape shape;
  std::vector<int> factors;
};

/// Factors of `axes` whose product is `factor`: the first axis takes what it can.
std::vector<int> dealt(std::span<const models::Dim> axes, int factor) {
  std::vector<int> factors;
  for (const models::Dim& dim : axes) {
    const auto taken = static_cast<int>(std::gcd(dim.size, std::int64_t{factor}));
    factors.push_back(taken);
    factor /= taken;
  }
  if (factor > 1) { factors.front() *= factor; }  // does not divide: told with the axis
  return factors;
}

/// A matrix's two factors dealt to the axes on both sides of `split`.
std::vector<int> matrix_factors(const Shape& shape, std::size_t split,
                                const std::vector<int>& two) {
  const std::span<const models::Dim> axes(shape);
  std::vector<int> factors = dealt(axes.first(split), two[0]);
  const std::vector<int> right = dealt(axes.subspan(split), two[1]);
  factors.insert(factors.end(), right.begin(), right.end());
  return factors;
}

/// Operands that a strategy names: those with a gradient, then, if it names more, all.
std::vector<const Operand*> named_operands(const OpGraph& graph, const Op& op, std::size_t count) {
  std::vector<const Operand*> all;
  std::vector<const Operand*> differentiable;
  for (const auto* list : {&op.inputs, &op.weights}) {
    for (const Operand& operand : *list) {
      all.push_back(&operand);
      const auto role = graph.tensors[static_cast<std::size_t>(operand.tensor)].role;
      if (role != models::Role::index) { differentiable.push_back(&operand); }
    }
  }
  return count == all.size() ? all : differentiable;
}

/// Shape of a weight as it is stored: a lookup reads some rows of it.
const Shape& shape_of(const OpGraph& graph, const Op& op, const Operand& operand) {
  const bool is_weight = std::any_of(op.weights.begin(), op.weights.end(),
                                     [&](const Operand& w) { return &w == &operand; });
  return is_weight ? graph.tensors[static_cast<std::size_t>(operand.tensor)].shape : operand.shape;
}

bool is_matrix_pair(const Op& op, const OperandFactors& operands) {
  return op.kind == models::OpKind::matmul && operands.size() == 2 && operands[0].size() == 2 &&
         operands[1].size() == 2;
}

std::string operands_text(const OpGraph& graph, const Op& op,
                          const std::vector<const Operand*>& operands) {
  std::string text;
  for (const Operand* operand : operands) {
    text += (text.empty() ? "" : ", ") + to_string(shape_of(graph, op, *operand));
  }
  return text;
}

std::optional<std::vector<CutOperand>> cut_operands(const OpGraph& graph, const Op& op,
                                                    const OperandFactors& operands) {
  const std::vector<const Operand*> named = named_operands(graph, op, operands.size());
  if (named.size() != operands.size()) { return std::nullopt; }
  std::vector<CutOperand> cut;
  for (std::size_t i = 0; i < named.size(); ++i) {
    const Shape& shape = shape_of(graph, op, *named[i]);
    const auto summed = static_cast<std::size_t>(op.reduced);
    if (is_matrix_pair(op, operands)) {
      const std::size_t split = i == 0 ? shape.size() - summed : summed;
      cut.push_back({shape, matrix_factors(shape, split, operands[i])});
    } else if (shape.size() == operands[i].size()) {
      cut.push_back({shape, operands[i]});
    } else {
      return std::nullopt;
    }
  }
  return cut;
}

std::string axis_text(const models::Dim& dim) {
  return std::string(name_of(dim.axis)) + " " + std::to_string(dim.size);
}

std::optional<CutProblem> wrong_factor(const models::Dim& dim, int factor) {
  if (!is_power_of_two(factor)) {
    return CutProblem{std::to_string(factor) + " for " + axis_text(dim), "a power of two", {}};
  }
  // Of fewer key/value heads than ranks, several ranks hold the same one.
  if (dim.axis != Axis::kv_heads && dim.size % factor != 0) {
    return CutProblem{std::to_string(factor) + " for " + axis_text(dim),
                      "a divisor of " + std::to_string(dim.size),
                      {}};
  }
  return std::nullopt;
}

/// Adds an axis, or finds that another operand has it cut otherwise.
std::optional<CutProblem> add_axis(const models::Dim& dim, int factor, AxisFactors& factors) {
  if (auto wrong = wrong_factor(dim, factor)) { return wrong; }
  const Axis axis = cut_axis(dim.axis);
  for (const auto& [known, before] : factors) {
    if (known != axis) { continue; }
    if (before == factor) { return std::nullopt; }
    return CutProblem{std::to_string(before) + " and " + std::to_string(factor) + " for " +
                          std::string(name_of(dim.axis)),
                      "the same factor for every operand that has the axis",
                      {}};
  }
  factors.emplace_back(axis, factor);
  return std::nullopt;
}

}  // namespace

std::optional<OperandFactors> parse_factors(std::string_view text) { return Parser(text).all(); }

std::string to_string(const OperandFactors& factors) {
  std::string text = "(";
  for (const std::vector<int>& operand : factors) {
    text += text.size() > 1 ? ",(" : "(";
    for (std::size_t i = 0; i < operand.size(); ++i) {
      text += (i == 0 ? "" : ",") + std::to_string(operand[i]);
    }
    text += ")";
  }
  return text + ")";
}

Axis cut_axis(Axis axis) {
  switch (axis) {
    case Axis::qkv:
    case Axis::kv_heads: return Axis::heads;
    case Axis::gate_ffn: return Axis::ffn;
    default: return axis;
  }
}

int factor_of(const AxisFactors& factors, Axis axis) {
  for (const auto& [known, factor] : factors) {
    if (known == cut_axis(axis)) { return factor; }
  }
  return 1;
}

AxisCut axis_cut(const OpGraph& graph, const Op& op, const OperandFactors& operands, int ranks) {
  AxisCut result;
  const auto cut = cut_operands(graph, op, operands);
  if (!cut) {
    const auto named = named_operands(graph, op, 0);
    result.problem = {
        to_string(operands), "a factor for each axis of " + operands_text(graph, op, named),
        op.kind == models::OpKind::matmul ? "a product takes ((rows,summed),(summed,columns)), too"
                                          : ""};
    return result;
  }
  for (const CutOperand& operand : *cut) {
    for (std::size_t i = 0; i < operand.shape.size(); ++i) {
      result.problem = add_axis(operand.shape[i], operand.factors[i], result.factors);
      if (result.problem) { return result; }
    }
  }
  std::int64_t parts = 1;
  for (const auto& [axis, factor] : result.factors) {
    parts = std::min<std::int64_t>(parts * factor, kMostFactor);
  }
  if (ranks % parts != 0) {
    result.problem = {to_string(operands) + ", " + std::to_string(parts) + " parts",
                      "parts that divide the tensor degree (" + std::to_string(ranks) + ")",
                      {}};
  }
  return result;
}

}  // namespace tsim::strategies
