#include "sim/cli/print_devices.hpp"

#include <ostream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "sim/cli/format.hpp"
#include "sim/cli/text_table.hpp"

namespace tsim::cli {
namespace {

std::string tflops(FlopsPerSecond rate) { return significant(rate.value / 1e12, 3); }

/// "fp16 312, bf16 312, int8 624".
std::string peaks_text(const cost::Device& device) {
  std::string text;
  for (const cost::PeakRate& peak : device.matrix_peaks) {
    text += (text.empty() ? "" : ", ") + std::string(models::name_of(peak.dtype)) + " " +
            tflops(peak.rate);
  }
  return text;
}

}  // namespace

void print_devices_text(std::span<const cost::Device> devices, std::ostream& out) {
  const std::vector<Column> columns{{"name"},
                                    {"memory", Align::right},
                                    {"bandwidth", Align::right},
                                    {"fp32 vector TFLOP/s", Align::right},
                                    {"dense matrix TFLOP/s"},
                                    {"description"}};
  std::vector<std::vector<std::string>> rows;
  for (const cost::Device& device : devices) {
    rows.push_back({device.name, format(device.memory),
                    significant(device.memory_bandwidth.value / 1e9, 3) + " GB/s",
                    tflops(device.vector_peak), peaks_text(device), device.description});
  }
  print_table(out, columns, rows);
}

void print_devices_json(std::span<const cost::Device> devices, std::ostream& out) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const cost::Device& device : devices) {
    nlohmann::ordered_json peaks = nlohmann::ordered_json::object();
    for (const cost::PeakRate& peak : device.matrix_peaks) {
      peaks[std::string(models::name_of(peak.dtype))] = peak.rate.value;
    }
    list.push_back({{"name", device.name},
                    {"description", device.description},
                    {"memory_bytes", device.memory.value},
                    {"reserved_bytes", device.reserved.value},
                    {"memory_bandwidth", device.memory_bandwidth.value},
                    {"vector_peak", device.vector_peak.value},
                    {"peaks", std::move(peaks)},
                    {"launch", device.launch.value},
                    {"host_launch", device.host_launch.value},
                    {"host_collective", device.host_collective.value},
                    {"overlap_slowdown", device.overlap_slowdown}});
  }
  const nlohmann::ordered_json document{{"version", 1}, {"devices", std::move(list)}};
  out << document.dump(2) << '\n';
}

}  // namespace tsim::cli
