// Words of cluster files for what the graph is made of.
#pragma once

#include <algorithm>
#include <array>
#include <string>

#include "cost/topology.hpp"

namespace tsim::sim {

inline constexpr std::array kVertexKinds{
    cost::VertexKind::device,         cost::VertexKind::nvswitch,    cost::VertexKind::pcie_switch,
    cost::VertexKind::host_bridge,    cost::VertexKind::host_memory, cost::VertexKind::nic,
    cost::VertexKind::network_switch, cost::VertexKind::nvme,        cost::VertexKind::cpu};
inline constexpr std::array kLinkKinds{
    cost::LinkKind::nvlink, cost::LinkKind::pcie,   cost::LinkKind::socket, cost::LinkKind::memory,
    cost::LinkKind::nic,    cost::LinkKind::fabric, cost::LinkKind::other};

/// "pcie_switch".
inline std::string word_for(cost::VertexKind kind) {
  std::string word(name_of(kind));
  std::replace(word.begin(), word.end(), ' ', '_');
  return word;
}

}  // namespace tsim::sim
