// The small Transformer that a check runs: its dimensions as plain text. No library is needed.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tsim::calibrate {

/// A pre-norm stack with learned positions, GELU and tied embeddings, trained by Adam.
struct StackShape {
  long layers = 0, hidden = 0, heads = 0, ffn = 0, vocab = 0;
  long sequence = 0, batch = 0;  // tokens of a sample; samples of one replica's step
  long tensor = 1, data = 1;
  bool causal = true;
  std::string dtype = "bf16";
  bool operator==(const StackShape&) const = default;

  long tokens() const { return batch * sequence; }
  long width() const { return hidden / heads; }
};

/// "layers 4", "hidden 2048", ... one a line.
std::string stack_text(const StackShape& shape);

/// Reads such lines; what is wrong goes to `bad`, a line each.
StackShape read_stack(std::string_view text, std::vector<std::string>& bad);

/// What the time of a step is told apart by.
enum class StackClass { products, attention, norms, elementwise, loss, optimizer, communication };
inline constexpr std::size_t kStackClasses = 7;
std::string_view name_of(StackClass which);

/// A measured step: the median of several, and of one more the time of each class.
struct StackTimes {
  double step = 0;                              // seconds
  std::array<double, kStackClasses> classes{};  // seconds; their sum lacks the gaps between kernels
  double memory = 0;                            // bytes in use on the fullest device
  double first_loss = 0, last_loss = 0;  // a token's mean, before the first and the last step
  int steps = 0;
};

/// The line of a journal that tells shape and times: a JSON object. `facts` is the machine's, an
/// object without its braces.
std::string stack_line(const StackShape& shape, const StackTimes& times, const std::string& facts);

}  // namespace tsim::calibrate
