#include "sim/input/clusters/read_node_design.hpp"

#include <algorithm>
#include <set>

#include "sim/input/clusters/named_file.hpp"
#include "sim/input/clusters/read_peers.hpp"
#include "sim/input/clusters/read_slot.hpp"
#include "sim/input/suggest.hpp"

namespace tsim::sim {
namespace {

using cost::LinkKind;
using cost::LinkSpec;
using cost::NodeDesign;

std::size_t index(int i) { return static_cast<std::size_t>(i); }
int count(const auto& list) { return static_cast<int>(list.size()); }

/// Reads one node's parts; later ones refer to earlier ones.
class NodeReader {
 public:
  NodeReader(const Place& place, const NodeContext& context)
      : in_(place), context_(context), host_(in_.take("host")) {}

  NodeDesign read() {
    node_.name = read_text(in_.take("name"), "");
    read_text(in_.take("description"), "");
    read_text(in_.take("source"), "");
    const Place devices = in_.take("devices");
    const Place pcie = in_.take("pcie");
    read_host();
    read_devices(devices);
    if (pcie.present()) { read_pcie(Reader(pcie)); }
    finish_host();
    read_peers(in_.take("nvswitch"), in_.take("links"), node_);
    for (const Place& nic : read_entries(in_.take("nics"))) { read_nic(Reader(nic)); }
    for (const Place& drive : read_entries(in_.take("drives"))) {
      node_.drives.push_back(read_slot(drive, any_slot()));
    }
    in_.finish();
    return std::move(node_);
  }

 private:
  SlotRule any_slot() const {
    return {&node_, count(node_.host.switches), count(node_.devices), true, slot_link_};
  }

  void read_host() {
    cost::HostDesign& host = node_.host;
    const Place slot = host_.take("slot");
    if (slot.present()) { slot_link_ = read_link(slot, {LinkKind::pcie}); }
    bridges_ = host_.take("bridges");
    for (const Place& bridge : read_entries(bridges_)) {
      host.bridges.push_back(static_cast<int>(read_count(bridge, {0, kMostInNode - 1})));
    }
    switches_ = host_.take("switches");
    for (const Place& at : read_entries(switches_)) {
      host.switches.push_back(read_slot(at, {&node_, count(host.switches), 0, false, slot_link_}));
    }
    host.bridge = read_link(host_.take("bridge"), {LinkKind::other});
    const Place memory = host_.take("memory");
    if (memory.present()) { host.memory = read_link(memory, {LinkKind::memory, {}, false}); }
    host.socket_link = read_link(host_.take("socket_link"), {LinkKind::socket});
    host.peer_access = read_flag(host_.take("peer_access"), true);
    host.nic_access = read_flag(host_.take("nic_access"), true);
    for (const Place& cores : read_entries(host_.take("cores"))) {
      host.cores.push_back(read_text(cores));
    }
    host_.finish();
  }

  /// Sockets are numbered without gaps, and there is memory where messages go through it.
  void finish_host() {
    const cost::HostDesign& host = node_.host;
    const int sockets = host.bridges.empty() ? 0 : *std::ranges::max_element(host.bridges) + 1;
    for (int s = 0; s < sockets; ++s) {
      if (std::ranges::count(host.bridges, s) > 0) { continue; }
      bridges_.fail("no bridge of socket " + std::to_string(s),
                    "sockets numbered from 0 without gaps");
      return;
    }
    if (count(host.cores) > sockets) {
      host_.take("cores").fail(
          std::to_string(host.cores.size()) + " entries",
          "one for each socket, of which there are " + std::to_string(sockets));
    }
    if (!(host.peer_access && host.nic_access) && !(host.memory.bandwidth.value > 0)) {
      host_.take("memory").fail("nothing", "a link to host memory, through which messages go");
    }
  }

  void read_devices(const Place& place) {
    if (place.present() && place.value->is_array()) {
      for (const Place& entry : read_entries(place)) { read_device_group(Reader(entry)); }
    } else {
      const auto devices = read_count(place, {1, kMostInNode});
      node_.devices.resize(static_cast<std::size_t>(devices), {context_.kind, {}});
    }
    if (node_.devices.empty() || count(node_.devices) > kMostInNode) {
      place.fail(std::to_string(node_.devices.size()) + " devices",
                 "1 to " + std::to_string(kMostInNode) + " devices in a node");
      node_.devices.resize(1);
    }
  }

  void read_device_group(Reader in) {
    const auto copies = read_count(in.take("count"), {1, kMostInNode}, 1);
    cost::DeviceDesign device{context_.kind, {}};
    const std::vector<std::string_view> names(context_.kinds->begin(), context_.kinds->end());
    device.kind = static_cast<int>(read_choice(in.take("kind"), names, index(context_.kind)));
    device.slot = read_slot(in.take("slot"), {&node_, count(node_.host.switches),
                                              count(node_.devices), false, slot_link_});
    in.finish();
    node_.devices.insert(node_.devices.end(), static_cast<std::size_t>(copies), device);
  }

  /// Switches dealt evenly to sockets, devices to switches.
  void read_pcie(Reader in) {
    cost::PcieShape shape;
    shape.devices = count(node_.devices);
    shape.sockets = static_cast<int>(read_count(in.take("sockets"), {1, kMostInNode}, 1));
    shape.devices_per_switch =
        static_cast<int>(read_count(in.take("devices_per_switch"), {0, kMostInNode}, 0));
    shape.card = required_link(in.take("card"), {LinkKind::pcie, slot_link_});
    shape.uplink = read_link(in.take("uplink"), {LinkKind::pcie, shape.card});
    in.finish();
    if (bridges_.present() || switches_.present()) {
      (bridges_.present() ? bridges_ : switches_)
          .fail("host bridges or switches beside \"pcie\"", "one of them", "\"pcie\" makes both");
    }
    const NodeDesign made = cost::pcie_design(shape);
    node_.host.bridges = made.host.bridges;
    node_.host.switches = made.host.switches;
    for (std::size_t i = 0; i < made.devices.size(); ++i) {
      if (node_.devices[i].slot.at != cost::SlotAt::none) {
        in_.take("devices").fail("devices in slots beside \"pcie\"", "one of them");
        return;
      }
      node_.devices[i].slot = made.devices[i].slot;
    }
  }

  void read_nic(Reader in) {
    const auto copies = read_count(in.take("count"), {1, kMostInNode}, 1);
    cost::NicDesign nic;
    nic.slot = read_slot(in.take("slot"), any_slot());
    nic.wire = required_link(in.take("wire"), {LinkKind::nic});
    const Place serves = in.take("serves");
    const std::vector<InputError>& errors = in.source().problems->errors();
    for (const Place& entry : read_entries(serves)) {
      const std::size_t before = errors.size();
      const int device = static_cast<int>(read_count(entry, {0, count(node_.devices) - 1}));
      nic.serves.push_back(device);
      if (errors.size() != before || (copies == 1 && served_.insert(device).second)) { continue; }
      entry.fail("device " + std::to_string(device) + " a second time", "one NIC that serves it");
    }
    in.finish();
    node_.nics.insert(node_.nics.end(), static_cast<std::size_t>(copies), nic);
  }

  Reader in_;
  const NodeContext& context_;
  Reader host_;
  NodeDesign node_;
  std::optional<LinkSpec> slot_link_;  // of slots that do not state theirs
  Place bridges_, switches_;
  std::set<int> served_;
};

NodeDesign read_object(const Place& place, const NodeContext& context) {
  return NodeReader(place, context).read();
}

NodeDesign read_file(const NamedFile& file, const NodeContext& context, Problems& problems) {
  const Source source{.problems = &problems, .file = file.path.string()};
  NodeDesign node = read_object({&file.document, "", &source}, context);
  if (node.name.empty()) { node.name = file.path.stem().string(); }
  return node;
}

/// The file's node with the keys at `place` set over it; objects are merged key by key.
NodeDesign read_changed(const Place& place, const Place& base, const NodeContext& context) {
  std::optional<NamedFile> file = open_named(base, kNodeFiles, context.folder);
  if (!file) { return {}; }
  Problems of_file;
  read_file(*file, context, of_file);
  for (const InputError& error : of_file.errors()) { place.source->problems->add(error); }
  if (!of_file.empty() || !file->document.is_object()) { return {}; }
  Json changes = *place.value;
  changes.erase("base");
  const Json merged = with_changes(file->document, changes);
  NodeDesign node = read_object({&merged, place.path, place.source}, context);
  if (!merged.contains("name")) { node.name = file->path.stem().string() + ", changed"; }
  return node;
}

}  // namespace

NodeDesign read_node_design(const Place& place, const NodeContext& context) {
  if (!place.present()) {
    place.fail("nothing", "an object or the path of a node file");
    return {};
  }
  if (place.value->is_string()) {
    const std::optional<NamedFile> file = open_named(place, kNodeFiles, context.folder);
    return file ? read_file(*file, context, *place.source->problems) : NodeDesign{};
  }
  if (place.value->is_object() && place.value->contains("base")) {
    Reader in(place);
    return read_changed(place, in.take("base"), context);
  }
  return read_object(place, context);
}

}  // namespace tsim::sim
