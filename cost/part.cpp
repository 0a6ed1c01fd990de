#include "cost/part.hpp"

namespace tsim::cost {
namespace {

template <class T>
std::vector<T> picked(const std::vector<T>& all, std::span<const int> devices) {
  std::vector<T> some;
  some.reserve(devices.size());
  for (const int d : devices) { some.push_back(all[static_cast<std::size_t>(d)]); }
  return some;
}

}  // namespace

Topology part_of(const Topology& whole, std::span<const int> devices) {
  Topology part = whole;
  part.devices = picked(whole.devices, devices);
  part.device_nic = picked(whole.device_nic, devices);
  part.device_staging = picked(whole.device_staging, devices);
  part.device_reducer = picked(whole.device_reducer, devices);
  part.device_kind = picked(whole.device_kind, devices);
  return part;
}

}  // namespace tsim::cost
