#include "sim/calibrate/device_text.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <stdexcept>

#include "sim/input/read_document.hpp"

namespace tsim::calibrate {
namespace {

using Json = nlohmann::ordered_json;

Json device_json(const cost::Device& base, const std::filesystem::path& path) {
  std::string why;
  const std::optional<std::string> text = sim::file_text(base.path, why);
  if (!text) { throw std::runtime_error(base.path + ": " + why); }
  // The base was read before: it is an object. Keys stay in their order.
  Json device = Json::parse(*text);
  device["name"] = path.stem().string();
  device["measured"] = path.stem().string() + ".points.json";
  return device;
}

Json figure(const std::string& value, const std::string& source) {
  return {{"value", value}, {"source", source}};
}

/// To three digits.
std::string rate(double value, double unit, const char* name) {
  std::array<char, 32> digits{};
  const int size = std::snprintf(digits.data(), digits.size(), "%.3g", value / unit);
  return std::string(digits.data(), static_cast<std::size_t>(size)) + " " + name;
}

}  // namespace

std::string device_text(const cost::Device& base, const std::filesystem::path& path,
                        std::vector<double> slowdowns) {
  Json device = device_json(base, path);
  device["description"] = base.description + ", calibrated";
  if (!slowdowns.empty()) {
    const auto middle = slowdowns.begin() + static_cast<std::ptrdiff_t>(slowdowns.size() / 2);
    std::nth_element(slowdowns.begin(), middle, slowdowns.end());
    const double more = std::round(100 * std::max(0.0, *middle - 1)) / 100;
    device["overlap_slowdown"] = {{"value", more},
                                  {"source", "median of " + std::to_string(slowdowns.size()) +
                                                 " products timed beside an all-reduce and alone"}};
  }
  return device.dump(2) + "\n";
}

std::string processor_text(const cost::Device& base, const std::filesystem::path& path,
                           const std::string& processor, const Ceilings& ceilings) {
  Json device = device_json(base, path);
  device["description"] = processor + ", calibrated";
  device["notes"] = "Efficiencies without a measured point are those of the device file \"cpu\".";
  const std::int64_t memory = std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  device["memory"] = figure(std::to_string(memory >> 20) + " MiB", "of this machine");
  const std::string product = rate(ceilings.product.value, 1e9, "GFLOP/s");
  device["memory_bandwidth"] =
      figure(rate(ceilings.memory.value, 1e9, "GB/s"), "the fastest copy that was measured");
  device["matrix_peaks"] = {{"fp32", product}, {"source", "the fastest product measured"}};
  device["vector_peak"] = figure(product, "as products");
  return device.dump(2) + "\n";
}

}  // namespace tsim::calibrate
