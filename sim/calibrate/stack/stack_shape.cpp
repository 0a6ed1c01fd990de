#include "sim/calibrate/stack/stack_shape.hpp"

#include <array>
#include <charconv>
#include <set>
#include <sstream>

#include "sim/calibrate/journal.hpp"

namespace tsim::calibrate {
namespace {

constexpr long kMost = 1L << 40;

struct Count {
  const char* name;
  long StackShape::*value;
  bool required;
};

constexpr std::array<Count, 9> kCounts{{{"layers", &StackShape::layers, true},
                                        {"hidden", &StackShape::hidden, true},
                                        {"heads", &StackShape::heads, true},
                                        {"ffn", &StackShape::ffn, true},
                                        {"vocab", &StackShape::vocab, true},
                                        {"sequence", &StackShape::sequence, true},
                                        {"batch", &StackShape::batch, true},
                                        {"tensor", &StackShape::tensor, false},
                                        {"data", &StackShape::data, false}}};

/// A whole number from 1 on; 0 for anything else.
long count_of(std::string_view word) {
  long value = 0;
  const auto [stop, failure] = std::from_chars(word.data(), word.data() + word.size(), value);
  const bool whole = failure == std::errc{} && stop == word.data() + word.size();
  return whole && value >= 1 && value <= kMost ? value : 0;
}

/// Why the line is none; empty where it was taken.
std::string take(const std::string& key, const std::string& value, StackShape& shape) {
  if (key == "causal") {
    shape.causal = value == "true";
    return value == "true" || value == "false" ? "" : "expected true or false";
  }
  if (key == "dtype") {
    shape.dtype = value;
    return value == "bf16" || value == "fp16" || value == "fp32" ? ""
                                                                 : "expected bf16, fp16 or fp32";
  }
  for (const Count& one : kCounts) {
    if (key != one.name) { continue; }
    shape.*one.value = count_of(value);
    return shape.*one.value > 0 ? "" : "expected a whole number above 0";
  }
  return "expected a key of a stack: layers, hidden, heads, ffn, vocab, sequence, batch, tensor, "
         "data, causal, dtype";
}

void check_whole(const StackShape& s, std::vector<std::string>& bad) {
  if (s.hidden % s.heads != 0 || s.width() % 8 != 0) {
    bad.emplace_back("hidden: expected a multiple of 8 times the heads");
  }
  if (s.heads % s.tensor != 0 || s.ffn % (8 * s.tensor) != 0) {
    bad.emplace_back("tensor: expected a divisor of the heads and of an eighth of ffn");
  }
  if (s.vocab % 8 != 0) { bad.emplace_back("vocab: expected a multiple of 8"); }
}

}  // namespace

std::string stack_text(const StackShape& shape) {
  std::string text;
  for (const Count& one : kCounts) {
    text += std::string(one.name) + " " + std::to_string(shape.*one.value) + "\n";
  }
  text += shape.causal ? "causal true\n" : "causal false\n";
  return text + "dtype " + shape.dtype + "\n";
}

StackShape read_stack(std::string_view text, std::vector<std::string>& bad) {
  StackShape shape;
  std::set<std::string> seen;
  std::istringstream in{std::string(text)};
  std::string line;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    std::istringstream words(line);
    std::string key;
    std::string value;
    std::string more;
    words >> key >> value >> more;
    if (key.empty() || key.front() == '#') { continue; }
    const bool again = !seen.insert(key).second;
    std::string why = !more.empty() || value.empty() ? "expected a key and a value"
                      : again                        ? "expected each key once"
                                                     : take(key, value, shape);
    if (!why.empty()) {
      bad.push_back("line " + std::to_string(number) + ": found \"" + line + "\", " + why);
    }
  }
  for (const Count& one : kCounts) {
    if (one.required && !seen.contains(one.name)) {
      bad.push_back("found no " + std::string(one.name) + ", expected a line with it");
    }
  }
  if (bad.empty()) { check_whole(shape, bad); }
  return shape;
}

std::string_view name_of(StackClass which) {
  static constexpr std::array<std::string_view, kStackClasses> kNames{
      "products", "attention", "norms", "element-wise", "loss", "optimizer", "communication"};
  return kNames.at(static_cast<std::size_t>(which));
}

std::string stack_line(const StackShape& shape, const StackTimes& times, const std::string& facts) {
  Object object;
  object.text("tsim", "check 1");
  for (const Count& one : kCounts) {
    object.number(one.name, static_cast<double>(shape.*one.value));
  }
  object.text("causal", shape.causal ? "true" : "false").text("dtype", shape.dtype);
  object.number("step_us", times.step * 1e6).number("steps", times.steps);
  for (std::size_t i = 0; i < kStackClasses; ++i) {
    object.number(std::string(name_of(static_cast<StackClass>(i))) + "_us", times.classes[i] * 1e6);
  }
  object.number("used_bytes", times.memory)
      .number("first_loss", times.first_loss)
      .number("last_loss", times.last_loss);
  const std::string line = object.str();
  return facts.empty() ? line : line.substr(0, line.size() - 1) + "," + facts + "}";
}

}  // namespace tsim::calibrate
