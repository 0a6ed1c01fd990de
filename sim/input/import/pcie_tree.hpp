// A PCIe tree that has the class of every pair of cards as a matrix shows it.
#pragma once

#include <vector>

#include "cost/wiring/node_design.hpp"
#include "sim/input/import/smi_matrix.hpp"

namespace tsim::sim {

/// Which cards are together below one switch, one root port's switches, one host bridge, one
/// socket: groups[Closeness][card], numbered by their first cards; `sys` is not used.
struct PcieGroups {
  std::vector<std::vector<int>> groups;
  bool guessed = false;  // hidden pairs were placed by NUMA node or CPU affinity

  int of(Closeness level, std::size_t card) const {
    return groups[static_cast<std::size_t>(level)][card];
  }
};

/// Being nearer than a class is transitive in a tree; a matrix in which it is not is a problem.
/// Cards whose class is hidden are put at one host bridge when nothing speaks against it and they
/// are of one NUMA node.
PcieGroups pcie_groups(const SmiMatrix& matrix, Problems& problems);

/// Links of the tree to be.
struct PcieLinks {
  cost::LinkSpec card{}, uplink{};
};

struct PlacedCards {
  cost::HostDesign host;          // bridges and switches
  std::vector<cost::Slot> slots;  // by card
};
PlacedCards place_cards(const PcieGroups& groups, const PcieLinks& links);

}  // namespace tsim::sim
