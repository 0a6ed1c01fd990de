#include "cost/device.hpp"

namespace tsim::cost {

Seconds host_time(const Device& device, bool backward) {
  return backward ? device.host_backward * device.host_launch : device.host_launch;
}

std::optional<FlopsPerSecond> peak(const Device& device, models::DType dtype) {
  for (const PeakRate& p : device.matrix_peaks) {
    if (p.dtype == dtype) { return p.rate; }
  }
  return std::nullopt;
}

}  // namespace tsim::cost
