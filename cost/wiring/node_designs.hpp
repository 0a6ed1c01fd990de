// Ready-made nodes: the shapes that machines come in. Figures are the caller's.
#pragma once

#include "cost/wiring/node_design.hpp"

namespace tsim::cost {

/// `devices` on NVSwitch; one link each of `link` per plane.
NodeDesign nvswitch_design(int devices, const std::vector<LinkSpec>& planes);

/// Every two of `devices` joined by one lane: four cards with bridges, eight on an OAM board.
NodeDesign all_to_all_design(int devices, const LinkSpec& lane);

/// PCIe cards: switches dealt evenly to sockets, cards to switches.
struct PcieShape {
  int devices = 4;
  int sockets = 1;
  int devices_per_switch = 0;  // 0: cards in the root ports themselves
  LinkSpec card{};             // card to switch or root port
  LinkSpec uplink{};           // switch to root port
  LinkSpec socket_link{};
  LinkSpec memory{BytesPerSecond{0}, {}, false};
};
NodeDesign pcie_design(const PcieShape& shape);

/// Neighbours 2i and 2i + 1 of a PCIe node bridged by `lanes` lanes.
NodeDesign with_bridges(NodeDesign node, int lanes, const LinkSpec& lane);

/// Groups of `size` neighbours linked all to all: HCCS of an Ascend server (two groups of 4).
NodeDesign with_linked_groups(NodeDesign node, int size, const LinkSpec& lane);

/// Eight devices in the hybrid cube mesh of a DGX-1 with V100: six lanes each, to four others, two
/// of which by two lanes; the other three are reached over PCIe. Added to a PCIe node of eight.
///   [NVIDIA DGX-1 with Tesla V100 system architecture, WP-08437-002, fig. 4]
NodeDesign with_cube_mesh(NodeDesign node, const LinkSpec& lane);

/// One NIC more, in the slot of device `d`'s neighbour: under the same switch or root port.
NodeDesign with_nic_beside(NodeDesign node, int device, const LinkSpec& wire);

}  // namespace tsim::cost
