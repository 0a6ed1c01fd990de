#include <algorithm>
#include <string>

#include "sim/input/clusters/routes.hpp"
#include "sim/input/clusters/words.hpp"
#include "sim/input/clusters/write_parts.hpp"
#include "sim/input/write_cluster.hpp"

namespace tsim::sim {
namespace {

using cost::Topology;

const std::string& name_at(const Topology& t, cost::VertexId v) {
  return t.vertices.at(static_cast<std::size_t>(v)).name;
}

Json to_json(const cost::Vertex& vertex) {
  Json json{{"name", vertex.name}, {"kind", word_for(vertex.kind)}};
  if (vertex.node >= 0) { json["node"] = vertex.node; }
  if (!vertex.cores.empty()) { json["cores"] = vertex.cores; }
  return json;
}

Json to_json(const cost::Link& link, const Topology& t) {
  Json json{{"a", name_at(t, link.a)},
            {"b", name_at(t, link.b)},
            {"kind", std::string(name_of(link.kind))}};
  set_link_keys(json, {link.bandwidth, link.latency, link.full_duplex, link.lanes});
  return json;
}

/// A device's name where that says it all.
Json device_json(const cost::Cluster& cluster, std::size_t i) {
  const Topology& t = cluster.topology;
  Json json{{"vertex", name_at(t, t.devices[i])}};
  const auto set = [&](const char* key, cost::VertexId v) {
    if (v >= 0) { json[key] = name_at(t, v); }
  };
  if (t.device_kind[i] != 0) {
    json["kind"] = cluster.devices.at(static_cast<std::size_t>(t.device_kind[i])).name;
  }
  set("nic", t.device_nic[i]);
  set("reducer", t.device_reducer[i]);
  set("peers_through", t.device_staging[i].peers);
  set("nic_through", t.device_staging[i].nic);
  return json.size() == 1 ? json["vertex"] : json;
}

}  // namespace

Json to_json(const cost::Cluster& cluster) {
  Topology t = cluster.topology;
  finish(t);
  Json json = Json::object();
  set_common_keys(json, cluster.name, cluster.devices, t.tuning);
  for (const char* key : {"vertices", "links", "devices"}) { json[key] = Json::array(); }
  for (const cost::Vertex& vertex : t.vertices) { json["vertices"].push_back(to_json(vertex)); }
  for (const cost::Link& link : t.links) { json["links"].push_back(to_json(link, t)); }
  const cost::Cluster finished{cluster.name, cluster.devices, t, cluster.nodes,
                               cluster.devices_per_node};
  for (std::size_t i = 0; i < t.devices.size(); ++i) {
    json["devices"].push_back(device_json(finished, i));
  }
  if (std::ranges::any_of(t.node_kind, [](std::int32_t kind) { return kind >= 0; })) {
    json["node_kinds"] = t.node_kind;
  }
  if (!t.torus.sizes.empty()) {
    json["torus"] = {{"sizes", t.torus.sizes}, {"first", name_at(t, t.torus.first)}};
  }
  if (!t.routes.place.empty()) { json["routes"] = to_json(t.routes); }
  return json;
}

}  // namespace tsim::sim
