#include "cost/device.hpp"

namespace tsim::cost {

std::optional<FlopsPerSecond> peak(const Device& device, models::DType dtype) {
  for (const PeakRate& p : device.matrix_peaks) {
    if (p.dtype == dtype) { return p.rate; }
  }
  return std::nullopt;
}

}  // namespace tsim::cost
