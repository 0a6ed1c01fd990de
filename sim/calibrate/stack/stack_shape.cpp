#include "sim/calibrate/stack/stack_shape.hpp"

#include <array>
#include <charconv>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "sim/calibrate/journal.hpp"

namespace tsim::calibrate {
namespace {

constexpr long kMost = 1L << 40;

/// A whole number; none for anything else.
std::optional<long> count_of(std::string_view word, long least) {
  long value = 0;
  const auto [stop, failure] = std::from_chars(word.data(), word.data() + word.size(), value);
  const bool whole = failure == std::errc{} && stop == word.data() + word.size();
  return whole && value >= least && value <= kMost ? std::optional(value) : std::nullopt;
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
  std::string names;
  for (const StackCount& one : kStackCounts) {
    names.append(one.name).append(", ");
    if (key != one.name) { continue; }
    const std::optional<long> count = count_of(value, one.least);
    shape.*one.value = count.value_or(one.least);
    return count ? "" : "expected a whole number from " + std::to_string(one.least) + " on";
  }
  return "expected a key of a stack: " + names + "causal, dtype";
}

void check_experts(const StackShape& s, std::vector<std::string>& bad) {
  if (s.experts == 0) {
    if (s.expert_ranks > 1 || s.top_k > 1) { bad.emplace_back("experts: expected some"); }
    return;
  }
  if (s.experts % 8 != 0 || s.top_k > s.experts || s.tokens() % s.experts != 0) {
    bad.emplace_back(
        "experts: expected a multiple of 8, from top_k on, that divides the tokens of a "
        "micro-batch");
  }
  if (s.data % s.expert_ranks != 0 || s.experts % s.expert_ranks != 0) {
    bad.emplace_back("expert_ranks: expected a divisor of data and of experts");
  }
  if (s.tensor > 1) { bad.emplace_back("tensor: expected 1 where there are experts"); }
}

void check_whole(const StackShape& s, std::vector<std::string>& bad) {
  if (s.hidden % s.heads != 0 || s.width() % 8 != 0) {
    bad.emplace_back("hidden: expected a multiple of 8 times the heads");
  }
  if (s.heads % s.tensor != 0 || s.ffn % (8 * s.tensor) != 0) {
    bad.emplace_back("tensor: expected a divisor of the heads and of an eighth of ffn");
  }
  if (s.vocab % 8 != 0) { bad.emplace_back("vocab: expected a multiple of 8"); }
  if (s.layers % s.pipeline != 0) { bad.emplace_back("pipeline: expected a divisor of layers"); }
  if ((s.pipeline == 1 && s.micro_batches > 1) || (s.pipeline > 1 && s.data > 1)) {
    bad.emplace_back(
        "pipeline: expected micro-batches with a pipeline alone, and no replicas of it");
  }
  check_experts(s, bad);
}

/// Why the line is none; empty where it was taken or is a remark.
std::string take_line(const std::string& line, std::set<std::string>& seen, StackShape& shape) {
  std::istringstream words(line);
  std::string key;
  std::string value;
  std::string more;
  words >> key >> value >> more;
  if (key.empty() || key.front() == '#') { return ""; }
  if (!seen.insert(key).second) { return "expected each key once"; }
  if (!more.empty() || value.empty()) { return "expected a key and a value"; }
  return take(key, value, shape);
}

}  // namespace

std::string stack_text(const StackShape& shape) {
  std::string text;
  for (const StackCount& one : kStackCounts) {
    if (!one.required && shape.*one.value == one.least) { continue; }
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
    const std::string why = take_line(line, seen, shape);
    if (why.empty()) { continue; }
    std::string problem = "line " + std::to_string(number);
    problem.append(": found \"").append(line).append("\", ").append(why);
    bad.push_back(std::move(problem));
  }
  for (const StackCount& one : kStackCounts) {
    if (!one.required || seen.contains(one.name)) { continue; }
    bad.push_back(std::string("found no ") + one.name + ", expected a line with it");
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
  for (const StackCount& one : kStackCounts) {
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
