#include "sim/net/net_lists.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>

#include "cost/tuning.hpp"
#include "sim/input/quantity.hpp"
#include "sim/input/suggest.hpp"

namespace tsim::sim {
namespace {

constexpr std::size_t kMostSizes = 1000;

std::vector<std::string_view> split_at(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) { return parts; }
    text.remove_prefix(end + 1);
  }
}

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [stop, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc{} || stop != text.data() + text.size() || value < 0) {
    return std::nullopt;
  }
  return value;
}

std::optional<Bytes> size(std::string_view text, std::string_view flag, Problems& problems) {
  const ParsedQuantity parsed = parse_quantity(text, Dimension::size);
  if (!parsed.value || *parsed.value > 1e15) {
    problems.add({std::string(flag), in_quotes(text), "a size with its unit, such as 64MiB",
                  parsed.value ? "at most 1 PB" : parsed.hint});
    return std::nullopt;
  }
  return Bytes{std::llround(*parsed.value)};
}

/// Adds `first` to `last`; false when they are not in order.
bool add_range(std::string_view part, std::vector<int>& ranks, int devices) {
  const std::size_t dash = part.find('-');
  const auto first = number(part.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : number(part.substr(dash + 1));
  if (!first || !last || *first > *last || *last >= devices) { return false; }
  for (int r = *first; r <= *last; ++r) { ranks.push_back(r); }
  return true;
}

std::vector<Bytes> growing(Bytes first, Bytes last, double factor) {
  std::vector<Bytes> sizes;
  for (double s = to_double(first); s <= to_double(last) * (1 + 1e-12); s *= factor) {
    const Bytes next{std::llround(s)};
    if (sizes.empty() || next > sizes.back()) { sizes.push_back(next); }
    if (sizes.size() > kMostSizes) { break; }
  }
  return sizes;
}

}  // namespace

std::vector<std::string_view> op_names() {
  std::vector<std::string_view> names;
  names.reserve(cost::kCollectiveOps);
  for (int op = 0; op < cost::kCollectiveOps; ++op) {
    names.push_back(name_of(static_cast<cost::CollectiveOp>(op)));
  }
  return names;
}

std::vector<int> read_ranks(std::string_view text, int devices, std::string_view flag,
                            Problems& problems) {
  std::vector<int> ranks;
  for (const std::string_view part : split_at(text, ',')) {
    if (!add_range(part, ranks, devices)) {
      problems.add({std::string(flag), in_quotes(part),
                    "devices such as 0-7,12, from 0 to " + std::to_string(devices - 1)});
      return {};
    }
  }
  std::vector<int> sorted = ranks;
  std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice != sorted.end()) {
    problems.add(
        {std::string(flag), "device " + std::to_string(*twice) + " twice", "each device once"});
    return {};
  }
  return ranks;
}

std::vector<Bytes> read_sizes(std::string_view text, std::string_view flag, Problems& problems) {
  const std::vector<std::string_view> parts = split_at(text, ':');
  std::vector<Bytes> sizes;
  if (parts.size() == 1) {
    for (const std::string_view one : split_at(text, ',')) {
      const auto bytes = size(one, flag, problems);
      if (bytes) { sizes.push_back(*bytes); }
    }
    return sizes;
  }
  const auto first = size(parts[0], flag, problems), last = size(parts[1], flag, problems);
  if (!first || !last) { return {}; }
  double factor = 2;
  if (parts.size() > 2) {
    const std::string written(parts[2]);
    char* end = nullptr;
    factor = std::strtod(written.c_str(), &end);
    if (parts.size() > 3 || written.empty() || *end != '\0' || !(factor > 1) || factor > 1e6) {
      problems.add({std::string(flag), in_quotes(text),
                    "FIRST:LAST or FIRST:LAST:FACTOR with a factor above 1"});
      return {};
    }
  }
  if (first->value < 1 || *first > *last) {
    problems.add({std::string(flag), in_quotes(text), "a first size from 1 byte to the last one"});
    return {};
  }
  sizes = growing(*first, *last, factor);
  if (sizes.size() > kMostSizes) {
    problems.add({std::string(flag), in_quotes(text),
                  "at most " + std::to_string(kMostSizes) + " sizes", "take a larger factor"});
    return {};
  }
  return sizes;
}

}  // namespace tsim::sim
