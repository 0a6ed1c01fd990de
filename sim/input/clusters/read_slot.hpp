// Where cards and PCIe switches of a node are plugged in.
#pragma once

#include "cost/wiring/node_design.hpp"
#include "sim/input/clusters/read_link.hpp"

namespace tsim::sim {

/// What a slot may refer to.
struct SlotRule {
  const cost::NodeDesign* node = nullptr;   // as far as it was read
  int switches = 0;                         // of its PCIe switches, the first that may be named
  int devices = 0;                          // the same of its devices
  bool beside = false;                      // "beside": in the neighbouring slot of a device
  std::optional<cost::LinkSpec> link = {};  // of slots that do not state theirs
};

/// An object with one of "switch", "bridge", "device" and "beside" (an index each) and the keys of
/// a link; without any of the first, what it is plugged into is told elsewhere and the link may be
/// left out. Nothing at all is no slot.
cost::Slot read_slot(const Place& place, const SlotRule& rule);

}  // namespace tsim::sim
