#include <dlfcn.h>
#include <nvml.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <ctime>
#include <fstream>

#include "sim/calibrate/cuda/host.hpp"

namespace tsim::calibrate {

struct Monitor::Library {
  std::unique_ptr<void, int (*)(void*)> handle{dlopen("libnvidia-ml.so.1", RTLD_NOW), dlclose};

  /// The library's function of this name and of the type of nvml.h's declaration; null if absent.
  template <typename Function>
  Function* get(const char* name) const {
    if (!handle) { return nullptr; }
    return reinterpret_cast<Function*>(dlsym(handle.get(), name));  // as POSIX has it
  }

  bool device(int number, nvmlDevice_t& device) const {
    auto* const find =
        get<decltype(nvmlDeviceGetHandleByIndex_v2)>("nvmlDeviceGetHandleByIndex_v2");
    return find != nullptr && find(static_cast<unsigned>(number), &device) == NVML_SUCCESS;
  }
};

Monitor::Monitor() : library_(std::make_unique<Library>()) {
  if (auto* const start = library_->get<decltype(nvmlInit_v2)>("nvmlInit_v2")) { start(); }
}

Monitor::~Monitor() {
  if (auto* const stop = library_->get<decltype(nvmlShutdown)>("nvmlShutdown")) { stop(); }
}

std::string Monitor::driver() const {
  std::array<char, 96> version{};
  auto* const ask =
      library_->get<decltype(nvmlSystemGetDriverVersion)>("nvmlSystemGetDriverVersion");
  if (ask == nullptr || ask(version.data(), version.size()) != NVML_SUCCESS) { return {}; }
  return version.data();
}

DeviceState Monitor::state(int device) const {
  DeviceState state;
  nvmlDevice_t handle{};
  if (!library_->device(device, handle)) { return state; }
  unsigned value = 0;
  auto* const clock = library_->get<decltype(nvmlDeviceGetClockInfo)>("nvmlDeviceGetClockInfo");
  if (clock != nullptr && clock(handle, NVML_CLOCK_SM, &value) == NVML_SUCCESS) {
    state.sm_mhz = static_cast<int>(value);
  }
  if (clock != nullptr && clock(handle, NVML_CLOCK_MEM, &value) == NVML_SUCCESS) {
    state.memory_mhz = static_cast<int>(value);
  }
  auto* const heat = library_->get<decltype(nvmlDeviceGetTemperature)>("nvmlDeviceGetTemperature");
  if (heat != nullptr && heat(handle, NVML_TEMPERATURE_GPU, &value) == NVML_SUCCESS) {
    state.celsius = static_cast<int>(value);
  }
  auto* const power = library_->get<decltype(nvmlDeviceGetPowerUsage)>("nvmlDeviceGetPowerUsage");
  if (power != nullptr && power(handle, &value) == NVML_SUCCESS) {
    state.watts = static_cast<double>(value) / 1000;
  }
  return state;
}

std::vector<unsigned> Monitor::others(int device) const {
  nvmlDevice_t handle{};
  std::array<nvmlProcessInfo_t, 64> found{};
  unsigned count = found.size();
  auto* const ask = library_->get<decltype(nvmlDeviceGetComputeRunningProcesses_v3)>(
      "nvmlDeviceGetComputeRunningProcesses_v3");
  std::vector<unsigned> others;
  if (ask == nullptr || !library_->device(device, handle) ||
      ask(handle, &count, found.data()) != NVML_SUCCESS) {
    return others;
  }
  for (unsigned i = 0; i < count; ++i) {
    if (found[i].pid != static_cast<unsigned>(getpid())) { others.push_back(found[i].pid); }
  }
  return others;
}

std::string processor_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) {
      return line.substr(colon + 2);
    }
  }
  return {};
}

std::string utc_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

}  // namespace tsim::calibrate
