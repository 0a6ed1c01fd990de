// Outputs of `nvidia-smi topo -m` as people published them, and what a path through a cluster looks
// like in their words.
#pragma once

#include <algorithm>
#include <set>
#include <string>

#include "cost/topology.hpp"

namespace tsim::sim {

/// Eight V100 in a hybrid cube mesh, one NIC; tabs and blanks mixed, no NUMA column.
///   [github.com/Oneflow-Inc/DLPerf, DeepSpeed/Megatron-LM/README.md]
inline const std::string kEightV100 =
    "\t\tGPU0    GPU1    GPU2    GPU3    GPU4    GPU5    GPU6    GPU7    mlx5_0  CPU Affinity\n"
    "GPU0     X      NV1     NV1     NV2     NV2     SYS     SYS     SYS     NODE    0-11,24-35\n"
    "GPU1    NV1      X      NV2     NV1     SYS     NV2     SYS     SYS     NODE    0-11,24-35\n"
    "GPU2    NV1     NV2      X      NV2     SYS     SYS     NV1     SYS     PIX     0-11,24-35\n"
    "GPU3    NV2     NV1     NV2      X      SYS     SYS     SYS     NV1     PIX     0-11,24-35\n"
    "GPU4    NV2     SYS     SYS     SYS      X      NV1     NV1     NV2     SYS     12-23,36-47\n"
    "GPU5    SYS     NV2     SYS     SYS     NV1      X      NV2     NV1     SYS     12-23,36-47\n"
    "GPU6    SYS     SYS     NV1     SYS     NV1     NV2      X      NV2     SYS     12-23,36-47\n"
    "GPU7    SYS     SYS     SYS     NV1     NV2     NV1     NV2      X      SYS     12-23,36-47\n"
    "mlx5_0  NODE    NODE    PIX     PIX     SYS     SYS     SYS     SYS      X \n";

/// Four cards and two NICs of two ports over two NUMA nodes; a legend, and the fence of the page it
/// was on.   [github.com/luigifcruz/stelline, hardware/asus-esc8000a-e12.md]
inline const std::string kFourCards = R"(root@host:~# nvidia-smi topo -m
        GPU0    GPU1    GPU2    GPU3    NIC0    NIC1    NIC2    NIC3    CPU Affinity    NUMA Affinity   GPU NUMA ID
GPU0     X      NODE    SYS     SYS     NODE    NODE    SYS     SYS     0-31    0               N/A
GPU1    NODE     X      SYS     SYS     NODE    NODE    SYS     SYS     0-31    0               N/A
GPU2    SYS     SYS      X      NODE    SYS     SYS     NODE    NODE    32-63   1               N/A
GPU3    SYS     SYS     NODE     X      SYS     SYS     NODE    NODE    32-63   1               N/A
NIC0    NODE    NODE    SYS     SYS      X      PIX     SYS     SYS
NIC1    NODE    NODE    SYS     SYS     PIX      X      SYS     SYS
NIC2    SYS     SYS     NODE    NODE    SYS     SYS      X      PIX
NIC3    SYS     SYS     NODE    NODE    SYS     SYS     PIX      X

Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)
  PIX  = Connection traversing at most a single PCIe bridge

NIC Legend:

  NIC0: mlx5_0
  NIC1: mlx5_1
  NIC2: mlx5_2
  NIC3: mlx5_3
```
)";

/// Underlined head, tabs that do not line up, Windows line ends.
///   [github.com/yuchia329/kvroute, internal/gpu, cut to four cards]
inline const std::string kEscaped =
    "\x1b[4m\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\r\n"
    "GPU0\t X \tPIX\tNODE\tSYS\t0-23,48-71\t0\t\tN/A\r\n"
    "GPU1\tPIX\t X \tNODE\tSYS\t0-23,48-71\t0\t\tN/A\r\n"
    "GPU2\tNODE\tNODE\t X \tSYS\t0-23,48-71\t0\t\tN/A\r\n"
    "GPU3\tSYS\tSYS\tSYS\t X \t24-47,72-95\t1\t\tN/A\r\n";

/// All pairs linked by `lanes` NVLinks; the first half of the devices on NUMA node 0.
inline std::string linked_matrix(int devices, int lanes) {
  std::string text;
  for (int i = 0; i < devices; ++i) { text += " GPU" + std::to_string(i); }
  text += " CPU Affinity NUMA Affinity\n";
  for (int i = 0; i < devices; ++i) {
    text += "GPU" + std::to_string(i);
    for (int j = 0; j < devices; ++j) { text += i == j ? " X" : " NV" + std::to_string(lanes); }
    text += i < devices / 2 ? " 0-23 0\n" : " 24-47 1\n";
  }
  return text;
}

/// The word that a matrix has for a path: by the switches, host bridges and sockets on it.
inline std::string class_of(const cost::Topology& topology, const cost::Path& path) {
  std::set<std::string> switches, bridges, sockets;
  bool nvlink = false;
  const auto note = [&](const std::string& name) {
    if (name.find("/pcie") != std::string::npos) { switches.insert(name); }
    if (name.find("/host") != std::string::npos) { bridges.insert(name); }
    if (name.find("/cpu") != std::string::npos) { sockets.insert(name); }
  };
  for (const cost::ChannelId id : path.channels) {
    const cost::Channel& channel = topology.channels[static_cast<std::size_t>(id)];
    nvlink = nvlink || channel.kind == cost::LinkKind::nvlink;
    const std::size_t arrow = channel.name.find(" -> ");
    note(channel.name.substr(0, arrow));
    note(channel.name.substr(arrow + 4));
  }
  if (nvlink) { return "NV"; }
  if (sockets.size() > 1) { return "SYS"; }
  if (bridges.size() > 1) { return "NODE"; }
  if (bridges.size() == 1) { return "PHB"; }
  return switches.size() == 1 ? "PIX" : "PXB";
}

}  // namespace tsim::sim
