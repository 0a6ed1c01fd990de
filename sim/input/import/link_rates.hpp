// Rates of links by generation, for files that name a link but not its speed.
#pragma once

#include <string>
#include <string_view>

#include "cost/wiring/node_design.hpp"

namespace tsim::sim {

/// What is assumed of the machine around one kind of device.
struct MachineRates {
  int pcie_generation = 4;
  BytesPerSecond nvlink_lane{};  // one link, per direction
  int nvlink_lanes = 0;          // links of one device; 0: unknown
  BytesPerSecond nic{};          // the usual NIC of such machines
  std::string source;            // of these figures
};
/// By the device's name ("a100-sxm-80g"); for one that is not known, those of an A100.
MachineRates machine_rates(std::string_view device);

/// What payload gets of a PCIe link, per direction: NCCL counts 12 GB/s of a generation 3 link of
/// 16 lanes and in proportion for others [NVIDIA/nccl, src/graph/topo.cc, ncclTopoAddPci].
BytesPerSecond pcie_rate(double gigatransfers, int lanes);
/// GT/s of a PCIe generation, 1..7.
double pcie_gigatransfers(int generation);

/// Links as assumed for a PCIe generation.
cost::LinkSpec pcie_link(BytesPerSecond rate);
cost::LinkSpec socket_link(int pcie_generation);
cost::LinkSpec host_memory(int pcie_generation);
cost::LinkSpec nvlink_lane(BytesPerSecond rate);
/// One half of a link through a switch.
cost::LinkSpec nvswitch_plane(BytesPerSecond rate);
cost::LinkSpec nic_wire(BytesPerSecond rate);

/// One phrase for the list of assumptions: the latencies of all of these.
std::string latency_assumption();

}  // namespace tsim::sim
