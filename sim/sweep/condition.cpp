#include "sim/sweep/condition.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

#include "sim/input/suggest.hpp"

namespace tsim::sim {
namespace {

using Kind = Condition::Kind;
using Token = Condition::Token;

struct Operator {
  std::string_view sign;
  int rank;  // binds the tighter, the higher
  double (*apply)(double, double);
};

double truth(bool value) { return value ? 1.0 : 0.0; }

constexpr std::array<Operator, 13> kOperators{{
    {"||", 1, [](double a, double b) { return truth(a != 0 || b != 0); }},
    {"&&", 2, [](double a, double b) { return truth(a != 0 && b != 0); }},
    {"==", 3, [](double a, double b) { return truth(a == b); }},
    {"!=", 3, [](double a, double b) { return truth(a != b); }},
    {"<=", 4, [](double a, double b) { return truth(a <= b); }},
    {">=", 4, [](double a, double b) { return truth(a >= b); }},
    {"<", 4, [](double a, double b) { return truth(a < b); }},
    {">", 4, [](double a, double b) { return truth(a > b); }},
    {"+", 5, [](double a, double b) { return a + b; }},
    {"-", 5, [](double a, double b) { return a - b; }},
    {"*", 6, [](double a, double b) { return a * b; }},
    {"/", 6, [](double a, double b) { return a / b; }},
    {"%", 6, [](double a, double b) { return std::fmod(a, b); }},
}};

/// A wrong place of the text and what belongs there.
struct Wrong {
  std::string found, expected, hint;
};

constexpr int kDeepest = 100;  // parentheses and signs in one another

class Parser {
 public:
  Parser(std::string_view text, const Condition::Names& names) : text_(text), names_(names) {}

  std::vector<Token> run() {
    expression(1, 0);
    blanks();
    if (at_ < text_.size()) { fail("an operator or the end"); }
    return std::move(tokens_);
  }

 private:
  [[noreturn]] void fail(const std::string& expected, const std::string& hint = {}) const {
    const std::string_view rest = text_.substr(std::min(at_, text_.size()));
    throw Wrong{rest.empty() ? "the end" : in_quotes(rest), expected, hint};
  }

  void blanks() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) {
      ++at_;
    }
  }

  bool take(std::string_view sign) {
    blanks();
    if (!text_.substr(at_).starts_with(sign)) { return false; }
    at_ += sign.size();
    return true;
  }

  /// Operators of at least `rank`, left to right.
  void expression(int rank, int depth) {
    if (depth > kDeepest) { fail("an expression that is less deep"); }
    primary(depth);
    for (;;) {
      blanks();
      const auto* const found = std::ranges::find_if(
          kOperators, [&](const Operator& o) { return text_.substr(at_).starts_with(o.sign); });
      if (found == kOperators.end() || found->rank < rank) { return; }
      at_ += found->sign.size();
      expression(found->rank + 1, depth + 1);
      tokens_.push_back({Kind::binary, static_cast<int>(found - kOperators.begin()), 0});
    }
  }

  void primary(int depth) {
    blanks();
    if (depth > kDeepest) { fail("an expression that is less deep"); }
    if (take("!")) {
      primary(depth + 1);
      tokens_.push_back({Kind::no, 0, 0});
    } else if (take("-")) {
      primary(depth + 1);
      tokens_.push_back({Kind::negate, 0, 0});
    } else if (take("(")) {
      expression(1, depth + 1);
      if (!take(")")) { fail("\")\""); }
    } else {
      operand();
    }
  }

  void operand() {
    if (at_ >= text_.size()) { fail("a number or a name"); }
    const char c = text_[at_];
    if (std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.') {
      number();
    } else if (c == '\'' || c == '"') {
      quoted(c);
    } else if (std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_') {
      name();
    } else {
      fail("a number or a name");
    }
  }

  void number() {
    double value = 0;
    const char* const begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc{}) { fail("a number"); }
    at_ += static_cast<std::size_t>(end - begin);
    tokens_.push_back({Kind::number, 0, value});
  }

  void quoted(char quote) {
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) { fail("a closing quote"); }
    const std::string_view word = text_.substr(at_ + 1, end - at_ - 1);
    const std::int64_t code = names_.code == nullptr ? -1 : names_.code(word);
    if (code < 0) { fail("the name of a schedule or a kind of recomputation in quotes"); }
    at_ = end + 1;
    tokens_.push_back({Kind::number, 0, static_cast<double>(code)});
  }

  void name() {
    std::size_t end = at_;
    while (end < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[end])) != 0 || text_[end] == '_')) {
      ++end;
    }
    const std::string_view word = text_.substr(at_, end - at_);
    if (word == "true" || word == "false") {
      tokens_.push_back({Kind::number, 0, truth(word == "true")});
    } else {
      const auto found = std::ranges::find(names_.slots, word);
      if (found == names_.slots.end()) {
        const std::vector<std::string_view> words(names_.slots.begin(), names_.slots.end());
        at_ = std::min(at_, text_.size());
        throw Wrong{in_quotes(word), "one of " + join(words), did_you_mean(word, words)};
      }
      tokens_.push_back({Kind::slot, static_cast<int>(found - names_.slots.begin()), 0});
    }
    at_ = end;
  }

  std::string_view text_;
  const Condition::Names& names_;
  std::size_t at_ = 0;
  std::vector<Token> tokens_;
};

}  // namespace

Condition Condition::read(std::string_view text, const Names& names, const std::string& path,
                          Problems& problems) {
  Condition condition;
  condition.text_ = text;
  try {
    condition.tokens_ = Parser(text, names).run();
  } catch (const Wrong& wrong) {
    problems.add({.path = path,
                  .found = wrong.found + " in " + in_quotes(text),
                  .expected = wrong.expected,
                  .hint = wrong.hint,
                  .file = {}});
    condition.tokens_ = {{Kind::number, 0, 1.0}};
  }
  return condition;
}

double Condition::value(std::span<const double> slots) const {
  constexpr std::size_t kStack = 256;  // deeper than any expression that was read
  std::array<double, kStack> stack;    // not filled: that would take longer than the rest
  std::size_t top = 0;
  for (const Token& token : tokens_) {
    switch (token.kind) {
      case Kind::number: stack[top++] = token.number; break;
      case Kind::slot: stack[top++] = slots[static_cast<std::size_t>(token.what)]; break;
      case Kind::negate: stack[top - 1] = -stack[top - 1]; break;
      case Kind::no: stack[top - 1] = truth(stack[top - 1] == 0); break;
      case Kind::binary:
        --top;
        stack[top - 1] =
            kOperators[static_cast<std::size_t>(token.what)].apply(stack[top - 1], stack[top]);
        break;
    }
  }
  return top == 0 ? 1.0 : stack[0];
}

std::vector<int> Condition::reads() const {
  std::vector<int> slots;
  for (const Token& token : tokens_) {
    if (token.kind == Kind::slot) { slots.push_back(token.what); }
  }
  return slots;
}

}  // namespace tsim::sim
