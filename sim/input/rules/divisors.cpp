#include "sim/input/rules/divisors.hpp"

#include <algorithm>

namespace tsim::sim {

std::vector<std::int64_t> divisors(std::int64_t n) {
  std::vector<std::int64_t> low;
  std::vector<std::int64_t> high;
  for (std::int64_t d = 1; d * d <= n; ++d) {
    if (n % d != 0) { continue; }
    low.push_back(d);
    if (d != n / d) { high.push_back(n / d); }
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

std::string list_text(const std::vector<std::int64_t>& values) {
  constexpr std::size_t kShown = 16;
  std::string text;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values.size() > kShown && i == kShown - 1) {
      text += ", ...";
      i = values.size() - 1;
    }
    text += (i == 0 ? "" : ", ") + std::to_string(values[i]);
  }
  return text;
}

std::string nearest_multiples(std::int64_t value, std::int64_t step) {
  const std::int64_t below = value / step * step;
  const std::string above = std::to_string(below + step);
  return below > 0 ? std::to_string(below) + " or " + above : above;
}

std::string even_list(std::int64_t layers, std::int64_t stages) {
  constexpr std::int64_t kShown = 16;
  std::string text = "[";
  for (std::int64_t s = 0; s < stages; ++s) {
    if (s == kShown) { return text + ", ...]"; }
    text += (s == 0 ? "" : ", ") + std::to_string(layers / stages + (s < layers % stages ? 1 : 0));
  }
  return text + "]";
}

}  // namespace tsim::sim
