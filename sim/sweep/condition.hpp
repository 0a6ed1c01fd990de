// Small expressions over a choice: "tensor * pipeline <= 64 && recompute != 'full'".
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/input/input_error.hpp"

namespace tsim::sim {

/// An expression in postfix order: numbers, variables (slots of the caller's) and operators.
class Condition {
 public:
  /// `names`: of the slots. Numbers, names, texts in quotes, + - * / % < <= > >= == != && || ! and
  /// parentheses. A text is what `code` says of it. Problems are told at `path`; the result is then
  /// always true.
  struct Names {
    std::vector<std::string> slots;
    /// Number of a text that is compared with a slot; -1: it has none.
    std::int64_t (*code)(std::string_view text) = nullptr;
  };
  static Condition read(std::string_view text, const Names& names, const std::string& path,
                        Problems& problems);

  /// The value for these slots; true is 1. Division by zero gives an infinity or no number, which
  /// compares as false.
  double value(std::span<const double> slots) const;
  bool holds(std::span<const double> slots) const { return value(slots) != 0; }
  const std::string& text() const { return text_; }
  /// Slots that it reads.
  std::vector<int> reads() const;

  enum class Kind : std::uint8_t { number, slot, negate, no, binary };
  struct Token {
    Kind kind{};
    int what = 0;  // slot, or index of the operator
    double number = 0;
  };

 private:
  std::string text_;
  std::vector<Token> tokens_;
};

}  // namespace tsim::sim
