// What the machine says of itself: names, versions, clocks, temperatures, who else uses the device.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace tsim::calibrate {

/// State of a device at one moment; 0 where the driver does not tell.
struct DeviceState {
  int sm_mhz = 0, memory_mhz = 0, celsius = 0;
  double watts = 0;
};

/// NVIDIA's management library, loaded when it is there.
class Monitor {
 public:
  Monitor();
  ~Monitor();
  std::string driver() const;
  DeviceState state(int device) const;
  /// Process numbers, other than this one, that compute on a device.
  std::vector<unsigned> others(int device) const;

 private:
  struct Library;
  std::unique_ptr<Library> library_;
};

/// "Intel(R) Xeon(R) ..."; empty where the system does not tell.
std::string processor_name();
/// "2026-11-28T09:00:00Z"
std::string utc_now();

}  // namespace tsim::calibrate
