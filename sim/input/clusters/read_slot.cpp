#include "sim/input/clusters/read_slot.hpp"

#include <array>

namespace tsim::sim {
namespace {

using cost::LinkKind;
using cost::Slot;
using cost::SlotAt;

struct Socket {
  std::string_view key;
  SlotAt at;
  int count = 0;
  std::string what;
};

std::array<Socket, 4> sockets(const SlotRule& rule) {
  return {Socket{"switch", SlotAt::pcie_switch, rule.switches, "PCIe switch"},
          Socket{"bridge", SlotAt::host_bridge, static_cast<int>(rule.node->host.bridges.size()),
                 "host bridge"},
          Socket{"device", SlotAt::device, rule.devices, "device"},
          Socket{"beside", SlotAt::device, rule.beside ? rule.devices : 0, "device"}};
}

/// The index at `place`, which is present.
int read_index(const Place& place, const Socket& socket) {
  if (socket.count == 0) {
    place.fail(place.found(), "no " + std::string(socket.key),
               "there is no " + socket.what + " that it could refer to");
    return 0;
  }
  return static_cast<int>(read_count(place, {0, socket.count - 1}, {}));
}

}  // namespace

Slot read_slot(const Place& place, const SlotRule& rule) {
  if (!place.present()) { return {}; }
  Slot slot;
  Reader in(place);
  bool placed = false;
  for (const Socket& socket : sockets(rule)) {
    const Place at = in.take(socket.key);
    if (!at.present()) { continue; }
    if (placed) { at.fail(at.found(), "one of switch, bridge, device and beside", "keep one"); }
    placed = true;
    slot = {socket.at, read_index(at, socket), {}};
    if (socket.key == "beside" && socket.count > 0) {
      slot = rule.node->devices[static_cast<std::size_t>(slot.index)].slot;
    }
  }
  const std::optional<cost::LinkSpec> none = cost::LinkSpec{};
  slot.link = read_link_keys(in, {LinkKind::pcie, placed ? rule.link : none});
  in.finish();
  return slot;
}

}  // namespace tsim::sim
