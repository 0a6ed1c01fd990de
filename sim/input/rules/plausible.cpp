#include "sim/input/rules/plausible.hpp"

#include <array>
#include <cmath>
#include <sstream>

namespace tsim::sim {
namespace {

struct SparsePeak {
  int bytes;  // of the format
  double tflops;
  double dense;
  std::string_view device;
};
// Vendors print these with the note "with sparsity"; dense matrices reach half.
constexpr std::array kSparsePeaks{
    SparsePeak{2, 624, 312, "A100 fp16/bf16"},         // NVIDIA A100 datasheet, 2021
    SparsePeak{1, 1248, 624, "A100 int8"},             // the same
    SparsePeak{2, 1979, 989.4, "H100 SXM fp16/bf16"},  // NVIDIA H100 datasheet, 2023
    SparsePeak{1, 3958, 1978.9, "H100 SXM fp8/int8"},  // the same
    SparsePeak{2, 1513, 756, "H100 PCIe fp16/bf16"},   // NVIDIA H100 PCIe datasheet, 2022
    SparsePeak{1, 3026, 1513, "H100 PCIe fp8/int8"},   // the same
    SparsePeak{2, 4500, 2250, "B200 fp16/bf16"},       // NVIDIA HGX B200 datasheet, 2024
    SparsePeak{1, 9000, 4500, "B200 fp8/int8"},        // the same
};
constexpr double kFastestNic = 100e9;      // 800 Gb/s, NVIDIA ConnectX-8, 2024
constexpr double kFastestNvlink = 900e9;   // NVLink 5, per direction, NVIDIA Blackwell, 2024
constexpr double kFastestPcie = 128e9;     // PCIe 6.0 x16, per direction, PCI-SIG, 2022
constexpr double kSlowestCrossing = 1e-3;  // data centre networks stay below 0.1 ms

std::string shown(double value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

void warn(const Place& place, const std::string& text) {
  if (place.muted || !place.present()) { return; }
  const std::string& file = place.source->file;
  place.source->problems->warn(file.empty() ? place.path : file + ": " + place.path, text);
}

void warn_if_faster(const Place& place, double rate, double limit, const std::string& fastest) {
  if (rate <= limit) { return; }
  warn(place, shown(rate / 1e9) + " GB/s is " + shown(rate / limit) + " times the fastest " +
                  fastest + "; hint: did you mean \"" + shown(rate / 1e9) + " Gb/s\"?");
}

}  // namespace

void warn_if_sparse(const Place& place, models::DType dtype, FlopsPerSecond rate) {
  for (const SparsePeak& peak : kSparsePeaks) {
    if (peak.bytes == size_of(dtype) && std::abs(rate.value / 1e12 / peak.tflops - 1.0) < 1e-3) {
      warn(place, shown(peak.tflops) + " TFLOP/s is the " + std::string(peak.device) +
                      " figure for 2:1 sparse matrices; hint: the dense peak is \"" +
                      shown(peak.dense) + " TFLOP/s\"");
    }
  }
}

void warn_if_fast_nic(const Place& place, BytesPerSecond rate) {
  warn_if_faster(place, rate.value, kFastestNic, "network card there is (800 Gb/s)");
}

void warn_if_fast_link(const Place& place, BytesPerSecond rate, bool pcie) {
  if (pcie) {
    warn_if_faster(place, rate.value, kFastestPcie, "PCIe link there is (6.0 x16, 128 GB/s)");
  } else {
    warn_if_faster(place, rate.value, kFastestNvlink,
                   "device link there is (900 GB/s a direction)");
  }
}

void warn_if_slow_crossing(const Place& place, Seconds latency) {
  if (latency.value <= kSlowestCrossing) { return; }
  warn(place, shown(latency.value * 1e3) + " ms is slow for one crossing; hint: check the unit");
}

}  // namespace tsim::sim
