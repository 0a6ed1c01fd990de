#include "sim/input/import/link_rates.hpp"

#include <algorithm>
#include <array>

namespace tsim::sim {
namespace {

struct Row {
  std::string_view prefix;  // of device names
  int pcie_generation = 0;
  double lane = 0;  // GB/s
  int lanes = 0;
  double nic = 0;  // Gb/s
  std::string_view source;
};

// NVLink: NVIDIA's architecture white papers of each generation (per link and direction: 20 GB/s in
// P100, 25 in V100, A100 and H100, 50 in B200). NICs: those of DGX-1, DGX A100, DGX H100, DGX B200.
constexpr std::array kRows{
    Row{"p100", 3, 20, 4, 100, "NVIDIA P100 white paper"},
    Row{"v100", 3, 25, 6, 100, "NVIDIA V100 white paper; DGX-1"},
    Row{"a100-pcie", 4, 25, 12, 200, "NVIDIA A100 white paper; DGX A100"},
    Row{"a100", 4, 25, 12, 200, "NVIDIA A100 white paper; DGX A100"},
    Row{"h100", 5, 25, 18, 400, "NVIDIA H100 white paper; DGX H100"},
    Row{"h200", 5, 25, 18, 400, "NVIDIA H200 datasheet; DGX H200"},
    Row{"b200", 5, 50, 18, 400, "NVIDIA Blackwell datasheet; DGX B200"},
    Row{"ascend910", 4, 30, 3, 100, "Huawei Ascend 910 (Hot Chips 31): 3 HCCS of 30 GB/s"},
    Row{"mlu270", 3, 25, 0, 100, "Cambricon MLU270 datasheet"},
    Row{"mi250", 4, 50, 8, 200, "AMD CDNA 2 white paper: 50 GB/s a direction and xGMI link"},
};

// Per crossing. NCCL's own hardware latencies of its LL protocol: 0.6 us over NVLink, 1.0 us over
// PCIe, 2.7 us over a network  [NVIDIA/nccl, src/graph/tuning.cc, hwLat].
constexpr Seconds kNvlink{0.6e-6}, kPcie{0.25e-6}, kWire{1.1e-6};

}  // namespace

MachineRates machine_rates(std::string_view device) {
  const auto* row =
      std::ranges::find_if(kRows, [&](const Row& r) { return device.starts_with(r.prefix); });
  const bool known = row != kRows.end();
  if (!known) { row = std::ranges::find(kRows, "a100", &Row::prefix); }
  return {row->pcie_generation, BytesPerSecond{row->lane * 1e9}, known ? row->lanes : 0,
          BytesPerSecond{row->nic * 1e9 / 8}, std::string(row->source)};
}

BytesPerSecond pcie_rate(double gigatransfers, int lanes) {
  const double encoded = gigatransfers < 8 ? 0.8 : 1.0;  // 8b/10b until generation 2
  return {12e9 / (8.0 * 16) * encoded * gigatransfers * lanes};
}

double pcie_gigatransfers(int generation) {
  constexpr std::array kRates{2.5, 5.0, 8.0, 16.0, 32.0, 64.0, 128.0};
  const int last = static_cast<int>(kRates.size());
  return kRates[static_cast<std::size_t>(std::clamp(generation, 1, last) - 1)];
}

cost::LinkSpec pcie_link(BytesPerSecond rate) { return {rate, kPcie, true}; }

// What NCCL counts between two sockets: Skylake 10 GB/s, Zen 3 and 4 24, Sapphire Rapids 22
// [NVIDIA/nccl, src/graph/topo.h].
cost::LinkSpec socket_link(int generation) {
  const double rate = generation <= 3 ? 10e9 : generation == 4 ? 24e9 : 22e9;
  return {BytesPerSecond{rate}, kPcie, true};
}

// Channels of the sockets of each generation: 6 of DDR4-2666, 8 of DDR4-3200, 8 of DDR5-4800.
cost::LinkSpec host_memory(int generation) {
  const double rate = generation <= 3 ? 128e9 : generation == 4 ? 204.8e9 : 307.2e9;
  return {BytesPerSecond{rate}, {}, false};
}

cost::LinkSpec nvlink_lane(BytesPerSecond rate) { return {rate, kNvlink, true}; }
cost::LinkSpec nvswitch_plane(BytesPerSecond rate) { return {rate, kNvlink / 2, true}; }
cost::LinkSpec nic_wire(BytesPerSecond rate) { return {rate, kWire, true}; }

std::string latency_assumption() {
  return "latencies: 0.6 us over NVLink, 0.25 us a PCIe or socket link, 1.1 us a NIC's wire "
         "(NCCL's "
         "hardware latencies, src/graph/tuning.cc)";
}

}  // namespace tsim::sim
