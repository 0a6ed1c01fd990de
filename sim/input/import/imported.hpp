// What an importer makes of a file of another program, and what it had to assume.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cost/build_cluster.hpp"
#include "cost/topology.hpp"

namespace tsim::sim {

/// What the caller knows better than the file.
struct ImportOptions {
  std::string device;                         // name or path of a device; empty: guessed
  int nodes = 1;                              // nodes of the kind that the file describes
  std::optional<int> pcie_generation;         // of every PCIe link that the file gives no speed for
  std::optional<BytesPerSecond> nvlink_lane;  // of one NVLink (or xGMI, HCCS), per direction
  std::optional<BytesPerSecond> nic;          // of every NIC that the file gives no speed for
};

/// A cluster out of a file: by its parts where it is regular, else as a graph.
struct ImportedCluster {
  std::string format;  // "nvidia-smi topo -m"
  std::variant<cost::ClusterDesign, cost::Cluster> cluster;
  std::string summary;                   // what the file held, one line
  std::vector<std::string> assumptions;  // one phrase each: figures that are not in the file, and
                                         // what was left out
};

}  // namespace tsim::sim
