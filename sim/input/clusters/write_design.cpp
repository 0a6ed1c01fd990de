#include <algorithm>
#include <string>

#include "sim/input/clusters/write_parts.hpp"
#include "sim/input/write_cluster.hpp"

namespace tsim::sim {
namespace {

using cost::LinkSpec;

Json to_json(const cost::Slot& slot) {
  Json json = Json::object();
  switch (slot.at) {
    case cost::SlotAt::none: break;
    case cost::SlotAt::pcie_switch: json["switch"] = slot.index; break;
    case cost::SlotAt::host_bridge: json["bridge"] = slot.index; break;
    case cost::SlotAt::device: json["device"] = slot.index; break;
  }
  if (slot.at != cost::SlotAt::none || slot.link != LinkSpec{}) { set_link_keys(json, slot.link); }
  return json;
}

Json slots(const std::vector<cost::Slot>& all) {
  Json list = Json::array();
  for (const cost::Slot& slot : all) { list.push_back(to_json(slot)); }
  return list;
}

/// Devices that are alike follow each other as one entry; a count where they have nothing to say.
Json devices_of(const cost::NodeDesign& node, const std::vector<cost::Device>& kinds) {
  const auto plain = [](const cost::DeviceDesign& d) { return d == cost::DeviceDesign{}; };
  if (std::ranges::all_of(node.devices, plain)) { return node.devices.size(); }
  Json list = Json::array();
  for (std::size_t i = 0; i < node.devices.size();) {
    const cost::DeviceDesign& device = node.devices[i];
    std::size_t end = i + 1;
    while (end < node.devices.size() && node.devices[end] == device) { ++end; }
    Json entry = Json::object();
    if (end - i > 1) { entry["count"] = end - i; }
    if (device.kind != 0) { entry["kind"] = kinds.at(static_cast<std::size_t>(device.kind)).name; }
    if (device.slot != cost::Slot{}) { entry["slot"] = to_json(device.slot); }
    list.push_back(std::move(entry));
    i = end;
  }
  return list;
}

void set_unless_plain(Json& object, const char* key, const LinkSpec& link) {
  if (link != LinkSpec{}) { object[key] = link_json(link); }
}

Json to_json(const cost::HostDesign& host) {
  Json json = Json::object();
  if (!host.bridges.empty()) { json["bridges"] = host.bridges; }
  if (!host.switches.empty()) { json["switches"] = slots(host.switches); }
  set_unless_plain(json, "bridge", host.bridge);
  if (host.memory.bandwidth.value > 0) { json["memory"] = link_json(host.memory, false); }
  set_unless_plain(json, "socket_link", host.socket_link);
  if (!host.peer_access) { json["peer_access"] = false; }
  if (!host.nic_access) { json["nic_access"] = false; }
  if (!host.cores.empty()) { json["cores"] = host.cores; }
  return json;
}

Json nics_of(const cost::NodeDesign& node) {
  Json list = Json::array();
  for (const cost::NicDesign& nic : node.nics) {
    Json entry{{"wire", link_json(nic.wire)}};
    if (nic.slot != cost::Slot{}) { entry["slot"] = to_json(nic.slot); }
    if (!nic.serves.empty()) { entry["serves"] = nic.serves; }
    list.push_back(std::move(entry));
  }
  return list;
}

Json links_of(const cost::PeerDesign& peers) {
  Json pairs = Json::array();
  for (const cost::PeerLink& pair : peers.pairs) {
    Json entry = Json::array({pair.a, pair.b});
    if (pair.lanes != 1) { entry.push_back(pair.lanes); }
    pairs.push_back(std::move(entry));
  }
  return {{"lane", link_json(peers.lane)}, {"pairs", std::move(pairs)}};
}

Json to_json(const cost::NodeDesign& node, const std::vector<cost::Device>& kinds) {
  Json json{{"devices", devices_of(node, kinds)}};
  if (!node.name.empty()) { json["name"] = node.name; }
  const cost::PeerDesign& peers = node.peers;
  if (!peers.planes.empty()) {
    Json planes = Json::array();
    for (const LinkSpec& plane : peers.planes) { planes.push_back(link_json(plane)); }
    json["nvswitch"] = {{"planes", std::move(planes)}};
    if (peers.reduces) { json["nvswitch"]["reduces"] = true; }
  }
  if (!peers.pairs.empty()) { json["links"] = links_of(peers); }
  if (node.host != cost::HostDesign{}) { json["host"] = to_json(node.host); }
  if (!node.nics.empty()) { json["nics"] = nics_of(node); }
  if (!node.drives.empty()) { json["drives"] = slots(node.drives); }
  return json;
}

Json to_json(const cost::TreeFabric& tree) {
  Json json{{"kind", "tree"}};
  if (tree.nodes_per_leaf != 0) { json["nodes_per_leaf"] = tree.nodes_per_leaf; }
  if (tree.rails != 1) { json["rails"] = tree.rails; }
  if (!tree.levels.empty()) { json["levels"] = Json::array(); }
  for (const cost::TreeLevel& level : tree.levels) {
    json["levels"].push_back({{"children", level.children},
                              {"parents", level.parents},
                              {"link", link_json(level.link)}});
  }
  return json;
}

Json to_json(const cost::Dragonfly& d) {
  return {{"kind", "dragonfly"},         {"groups", d.groups},
          {"routers", d.routers},        {"nodes_per_router", d.nodes_per_router},
          {"local", link_json(d.local)}, {"global", link_json(d.global)}};
}

Json to_json(const cost::Torus& torus) {
  return {{"kind", "torus"},
          {"sizes", torus.sizes},
          {"nodes_per_router", torus.nodes_per_router},
          {"link", link_json(torus.link)}};
}

}  // namespace

Json to_json(const cost::ClusterDesign& design) {
  Json json = Json::object();
  set_common_keys(json, design.name, design.devices, design.tuning);
  json["nodes"] = Json::array();
  for (const cost::NodeGroup& group : design.nodes) {
    json["nodes"].push_back(
        {{"count", group.count}, {"node", to_json(group.node, design.devices)}});
  }
  if (design.fabric != cost::Fabric{}) {
    json["fabric"] = std::visit([](const auto& fabric) { return to_json(fabric); }, design.fabric);
  }
  return json;
}

}  // namespace tsim::sim
