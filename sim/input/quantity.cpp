#include "sim/input/quantity.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <sstream>
#include <vector>

#include "sim/input/suggest.hpp"

namespace tsim::sim {
namespace {

struct Unit {
  std::string_view name;
  Dimension dimension;
  double scale;
};

constexpr double kKi = 1024.0;
constexpr std::array kUnits{Unit{"B", Dimension::size, 1.0},
                            Unit{"KB", Dimension::size, 1e3},
                            Unit{"kB", Dimension::size, 1e3},
                            Unit{"MB", Dimension::size, 1e6},
                            Unit{"GB", Dimension::size, 1e9},
                            Unit{"TB", Dimension::size, 1e12},
                            Unit{"KiB", Dimension::size, kKi},
                            Unit{"MiB", Dimension::size, kKi* kKi},
                            Unit{"GiB", Dimension::size, kKi* kKi* kKi},
                            Unit{"TiB", Dimension::size, kKi* kKi* kKi* kKi},
                            Unit{"B/s", Dimension::rate, 1.0},
                            Unit{"KB/s", Dimension::rate, 1e3},
                            Unit{"MB/s", Dimension::rate, 1e6},
                            Unit{"GB/s", Dimension::rate, 1e9},
                            Unit{"TB/s", Dimension::rate, 1e12},
                            Unit{"KiB/s", Dimension::rate, kKi},
                            Unit{"MiB/s", Dimension::rate, kKi* kKi},
                            Unit{"GiB/s", Dimension::rate, kKi* kKi* kKi},
                            Unit{"TiB/s", Dimension::rate, kKi* kKi* kKi* kKi},
                            Unit{"b/s", Dimension::rate, 1.0 / 8},
                            Unit{"Kb/s", Dimension::rate, 1e3 / 8},
                            Unit{"Mb/s", Dimension::rate, 1e6 / 8},
                            Unit{"Gb/s", Dimension::rate, 1e9 / 8},
                            Unit{"Tb/s", Dimension::rate, 1e12 / 8},
                            Unit{"s", Dimension::time, 1.0},
                            Unit{"ms", Dimension::time, 1e-3},
                            Unit{"us", Dimension::time, 1e-6},
                            Unit{"ns", Dimension::time, 1e-9},
                            Unit{"FLOP/s", Dimension::compute, 1.0},
                            Unit{"MFLOP/s", Dimension::compute, 1e6},
                            Unit{"GFLOP/s", Dimension::compute, 1e9},
                            Unit{"TFLOP/s", Dimension::compute, 1e12},
                            Unit{"PFLOP/s", Dimension::compute, 1e15},
                            Unit{"OP/s", Dimension::compute, 1.0},
                            Unit{"GOP/s", Dimension::compute, 1e9},
                            Unit{"TOP/s", Dimension::compute, 1e12},
                            Unit{"POP/s", Dimension::compute, 1e15}};

/// Spellings that people use, and the one that is meant.
struct Alias {
  std::string_view written, meant;
};
constexpr std::array kAliases{Alias{"Gbps", "Gb/s"},
                              Alias{"Mbps", "Mb/s"},
                              Alias{"Tbps", "Tb/s"},
                              Alias{"GBps", "GB/s"},
                              Alias{"MBps", "MB/s"},
                              Alias{"TBps", "TB/s"},
                              Alias{"Gbit/s", "Gb/s"},
                              Alias{"Gbit", "Gb/s"},
                              Alias{"Gb", "Gb/s"},
                              Alias{"TFLOPS", "TFLOP/s"},
                              Alias{"TFLOPs", "TFLOP/s"},
                              Alias{"TFLOPS/s", "TFLOP/s"},
                              Alias{"TFLOPs/s", "TFLOP/s"},
                              Alias{"TF", "TFLOP/s"},
                              Alias{"TF/s", "TFLOP/s"},
                              Alias{"GFLOPS", "GFLOP/s"},
                              Alias{"GFLOPs", "GFLOP/s"},
                              Alias{"PFLOPS", "PFLOP/s"},
                              Alias{"PFLOPs", "PFLOP/s"},
                              Alias{"TOPS", "TOP/s"},
                              Alias{"TOPs", "TOP/s"},
                              Alias{"\xC2\xB5s", "us"},
                              Alias{"usec", "us"},
                              Alias{"msec", "ms"},
                              Alias{"sec", "s"}};

const Unit* unit_named(std::string_view name) {
  for (const Unit& unit : kUnits) {
    if (unit.name == name) { return &unit; }
  }
  return nullptr;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') { text.remove_prefix(1); }
  while (!text.empty() && text.back() == ' ') { text.remove_suffix(1); }
  return text;
}

std::vector<std::string_view> unit_names(Dimension dimension) {
  std::vector<std::string_view> names;
  for (const Unit& unit : kUnits) {
    if (unit.dimension == dimension) { names.push_back(unit.name); }
  }
  return names;
}

/// The unit of `dimension` that somebody who wrote `written` most likely meant.
std::string_view meant_unit(std::string_view written, Dimension dimension) {
  for (const Alias& alias : kAliases) {
    if (alias.written == written && unit_named(alias.meant)->dimension == dimension) {
      return alias.meant;
    }
  }
  const std::string per_second = std::string(written) + "/s";
  for (const Unit& unit : kUnits) {
    if (unit.dimension == dimension && unit.name == per_second) { return unit.name; }
  }
  // A quantity of another kind is not a misspelling.
  if (unit_named(written) != nullptr) { return {}; }
  return nearest(written, unit_names(dimension));
}

std::string unit_hint(std::string_view number, std::string_view unit, Dimension dimension) {
  if (unit.empty()) { return "add the unit"; }
  const std::string_view meant = meant_unit(unit, dimension);
  if (!meant.empty()) {
    return "did you mean \"" + std::string(number) + " " + std::string(meant) + "\"?";
  }
  return "units are " + join(unit_names(dimension));
}

}  // namespace

std::string expected_quantity(Dimension dimension) {
  switch (dimension) {
    case Dimension::size: return R"(a size with its unit, such as "80 GiB" or "25 MB")";
    case Dimension::rate: return R"(a rate with its unit, such as "25 GB/s" or "200 Gb/s")";
    case Dimension::time: return "a time with its unit, such as \"1.2 us\"";
    case Dimension::compute: return "a rate with its unit, such as \"312 TFLOP/s\"";
  }
  return {};
}

double largest(Dimension dimension) {
  switch (dimension) {
    case Dimension::size:
    case Dimension::rate: return 1e18;
    case Dimension::time: return 1e9;
    case Dimension::compute: return 1e21;
  }
  return 0.0;
}

ParsedQuantity parse_quantity(std::string_view text, Dimension dimension) {
  text = trimmed(text);
  double number = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number)) { return {std::nullopt, {}}; }
  const std::string_view digits = text.substr(0, static_cast<std::size_t>(end - text.data()));
  const std::string_view name = trimmed(text.substr(digits.size()));
  const Unit* unit = unit_named(name);
  if (unit == nullptr || unit->dimension != dimension) {
    return {std::nullopt, unit_hint(digits, name, dimension)};
  }
  return {number * unit->scale, {}};
}

std::string quantity_text(double value, Dimension dimension) {
  std::string best;
  for (const Unit& unit : kUnits) {
    const bool of_bits = unit.name.find('b') != std::string_view::npos;
    if (unit.dimension != dimension || of_bits || unit.name == "kB") { continue; }
    std::array<char, 32> digits{};
    const auto [end, error] =
        std::to_chars(digits.data(), digits.data() + digits.size(), value / unit.scale);
    std::string text(digits.data(), end);
    text += " " + std::string(unit.name);
    const bool exact = parse_quantity(text, dimension).value == value;
    if (exact && (best.empty() || text.size() < best.size())) { best = std::move(text); }
  }
  return best;
}

std::string rate_text(double bytes_per_second) {
  std::ostringstream out;
  out << bytes_per_second / 1e9 << " GB/s";
  return out.str();
}

}  // namespace tsim::sim
