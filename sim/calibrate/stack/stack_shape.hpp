// The small Transformer that a check runs: its dimensions as plain text. No library is needed.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tsim::calibrate {

/// A pre-norm stack with learned positions, GELU and tied embeddings, trained by Adam. Its devices
/// are `tensor` x `pipeline` x `data`, in that order from the innermost.
struct StackShape {
  long layers = 0, hidden = 0, heads = 0, ffn = 0, vocab = 0;
  long sequence = 0, batch = 0;  // tokens of a sample; samples of a replica's micro-batch
  long tensor = 1, data = 1, pipeline = 1, micro_batches = 1;
  /// 0: no layer has experts. Each token goes to `top_k` of them, all get as many, and
  /// `expert_ranks` neighbouring replicas hold them together.
  long experts = 0, top_k = 1, expert_ranks = 1;
  bool causal = true;
  std::string dtype = "bf16";
  bool operator==(const StackShape&) const = default;

  long tokens() const { return batch * sequence; }
  long width() const { return hidden / heads; }
  long devices() const { return tensor * pipeline * data; }
  long stage_layers() const { return layers / pipeline; }
  long local_experts() const { return experts / expert_ranks; }
  /// Tokens that all ranks send to one expert.
  long expert_rows() const { return tokens() * top_k * expert_ranks / experts; }
};

/// "layers 4", "hidden 2048", ... one a line; counts of 1 that need not be given are left out.
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

/// The counts of a shape by name, in the order of its text; `least` is the smallest value, and a
/// count that need not be given has it.
struct StackCount {
  const char* name;
  long StackShape::*value;
  bool required;
  long least;
};
inline constexpr std::array<StackCount, 14> kStackCounts{
    {{"layers", &StackShape::layers, true, 1},
     {"hidden", &StackShape::hidden, true, 1},
     {"heads", &StackShape::heads, true, 1},
     {"ffn", &StackShape::ffn, true, 1},
     {"vocab", &StackShape::vocab, true, 1},
     {"sequence", &StackShape::sequence, true, 1},
     {"batch", &StackShape::batch, true, 1},
     {"tensor", &StackShape::tensor, false, 1},
     {"data", &StackShape::data, false, 1},
     {"pipeline", &StackShape::pipeline, false, 1},
     {"micro_batches", &StackShape::micro_batches, false, 1},
     {"experts", &StackShape::experts, false, 0},
     {"top_k", &StackShape::top_k, false, 1},
     {"expert_ranks", &StackShape::expert_ranks, false, 1}}};

}  // namespace tsim::calibrate
