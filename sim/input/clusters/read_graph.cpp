#include "sim/input/clusters/read_graph.hpp"

#include <map>

#include "sim/input/clusters/read_design.hpp"
#include "sim/input/clusters/read_link.hpp"
#include "sim/input/clusters/read_tuning.hpp"
#include "sim/input/clusters/routes.hpp"
#include "sim/input/clusters/words.hpp"
#include "sim/input/suggest.hpp"

namespace tsim::sim {
namespace fs = std::filesystem;
namespace {

using cost::Topology;
using cost::VertexId;
using cost::VertexKind;

constexpr std::int64_t kMostVertices = 1'000'000;

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Reads the parts of one graph; later ones name vertices of the first.
class GraphReader {
 public:
  GraphReader(Reader& in, fs::path folder) : in_(in), folder_(std::move(folder)) {}

  cost::Cluster read() {
    const std::vector<InputError>& errors = in_.source().problems->errors();
    const std::size_t before = errors.size();
    cluster_.name = read_text(in_.take("name"), "");
    read_text(in_.take("description"), "");
    read_text(in_.take("source"), "");
    cluster_.devices = read_kinds(in_, folder_);
    const Place vertices = in_.take("vertices");
    for (const Place& vertex : read_entries(vertices)) { read_vertex(Reader(vertex)); }
    const Place links = in_.take("links");
    for (const Place& link : read_entries(links)) { read_one_link(Reader(link)); }
    if (static_cast<double>(t_.links.size()) > kMostLinks) {
      links.fail(std::to_string(t_.links.size()) + " links", "at most 2000000");
    }
    const Place devices = in_.take("devices");
    for (const Place& device : read_entries(devices)) { read_device_entry(device); }
    if (t_.devices.empty()) { devices.fail(devices.found(), "a list of the devices' names"); }
    read_node_kinds(in_.take("node_kinds"));
    read_torus(in_.take("torus"));
    t_.routes = read_routes(in_.take("routes"), t_);
    t_.tuning = read_tuning(in_.take("tuning"));
    in_.finish();
    if (errors.size() == before) { count_nodes(devices); }
    return std::move(cluster_);
  }

 private:
  void read_vertex(Reader in) {
    cost::Vertex vertex;
    const Place name = in.take("name");
    vertex.name = read_text(name);
    std::vector<std::string> words;
    words.reserve(kVertexKinds.size());
    for (const VertexKind kind : kVertexKinds) { words.push_back(word_for(kind)); }
    const std::vector<std::string_view> views(words.begin(), words.end());
    const std::size_t before = in.source().problems->errors().size();
    vertex.kind = kVertexKinds[read_choice(in.take("kind"), views)];
    const bool kind_known = in.source().problems->errors().size() == before;
    vertex.node = static_cast<std::int32_t>(read_count(in.take("node"), {0, kMostDevices - 1}, -1));
    vertex.cores = read_text(in.take("cores"), "");
    in.finish();
    const auto id = static_cast<VertexId>(t_.vertices.size());
    if (!vertex.name.empty() && !ids_.emplace(vertex.name, id).second) {
      name.fail("a second vertex named " + in_quotes(vertex.name), "names that differ");
    }
    if (kind_known && vertex.kind == VertexKind::device && vertex.node < 0) {
      in.take("node").fail("nothing", "the number of the device's node");
    }
    t_.vertices.push_back(std::move(vertex));
  }

  /// The vertex that the text at `place` names; -1 and a problem when there is none.
  VertexId vertex_at(const Place& place, const std::string& what) {
    const std::string name = read_text(place);
    const auto known = ids_.find(name);
    if (known != ids_.end()) { return known->second; }
    if (name.empty()) { return -1; }
    std::vector<std::string_view> names;
    for (const auto& [key, id] : ids_) { names.emplace_back(key); }
    place.fail(in_quotes(name), "the name of " + what + " in /vertices", did_you_mean(name, names));
    return -1;
  }

  VertexId optional_vertex(const Place& place, const std::string& what) {
    return place.present() ? vertex_at(place, what) : -1;
  }

  void read_one_link(Reader in) {
    cost::Link link;
    const Place a = in.take("a");
    link.a = vertex_at(a, "a vertex");
    link.b = vertex_at(in.take("b"), "a vertex");
    link.kind = read_choice<cost::LinkKind>(in.take("kind"), kLinkKinds);
    const cost::LinkSpec spec = read_link_keys(in, {link.kind});
    in.finish();
    link.bandwidth = spec.bandwidth;
    link.latency = spec.latency;
    link.full_duplex = spec.full_duplex;
    link.lanes = spec.lanes;
    if (link.a >= 0 && link.a == link.b) { a.fail("a vertex linked to itself", "two vertices"); }
    t_.links.push_back(link);
  }

  /// A device's name, or {"vertex": name, "kind": ..., ...}.
  void read_device_entry(const Place& place) {
    if (place.value->is_string()) {
      add_device(place);
      t_.device_kind.push_back(0);
      t_.device_nic.push_back(-1);
      t_.device_reducer.push_back(-1);
      t_.device_staging.emplace_back();
      return;
    }
    Reader in(place);
    add_device(in.take("vertex"));
    std::vector<std::string_view> kinds;
    for (const cost::Device& kind : cluster_.devices) { kinds.emplace_back(kind.name); }
    t_.device_kind.push_back(static_cast<std::int32_t>(read_choice(in.take("kind"), kinds, 0)));
    t_.device_nic.push_back(optional_vertex(in.take("nic"), "a NIC"));
    t_.device_reducer.push_back(optional_vertex(in.take("reducer"), "a switch"));
    const VertexId peers = optional_vertex(in.take("peers_through"), "host memory");
    t_.device_staging.push_back({peers, optional_vertex(in.take("nic_through"), "host memory")});
    in.finish();
  }

  void add_device(const Place& place) {
    const VertexId id = vertex_at(place, "a device");
    if (id >= 0) {
      if (t_.vertices[index(id)].kind != VertexKind::device) {
        place.fail("a " + std::string(name_of(t_.vertices[index(id)].kind)),
                   "a vertex of kind \"device\"");
      }
      const auto [first, is_new] = ranks_.emplace(id, t_.devices.size());
      if (!is_new) {
        place.fail("device " + in_quotes(t_.vertices[index(id)].name) +
                       " a second time, it is number " + std::to_string(first->second),
                   "each device once");
      }
    }
    t_.devices.push_back(std::max(id, 0));
  }

  void read_node_kinds(const Place& place) {
    for (const Place& kind : read_entries(place)) {
      t_.node_kind.push_back(static_cast<std::int32_t>(read_count(kind, {-1, kMostDevices})));
    }
  }

  /// Routers of a torus are consecutive vertices from "first" on.
  void read_torus(const Place& place) {
    if (!place.present()) { return; }
    Reader in(place);
    const Place sizes = in.take("sizes");
    std::int64_t routers = 1;
    for (const Place& size : read_entries(sizes)) {
      t_.torus.sizes.push_back(static_cast<int>(read_count(size, {1, kMostVertices})));
      routers = std::min(routers * t_.torus.sizes.back(), kMostVertices);
    }
    const Place first = in.take("first");
    t_.torus.first = std::max(vertex_at(first, "a switch"), 0);
    in.finish();
    if (t_.torus.first + routers > static_cast<std::int64_t>(t_.vertices.size())) {
      first.fail("a torus of " + std::to_string(routers) + " routers",
                 "as many vertices from the first router on");
    }
  }

  /// Devices are numbered node by node, nodes from 0 without gaps.
  void count_nodes(const Place& devices) {
    std::int32_t node = -1;
    std::int64_t in_first = 0;
    for (std::size_t i = 0; i < t_.devices.size(); ++i) {
      const std::int32_t at = t_.vertices.empty() ? 0 : t_.vertices[index(t_.devices[i])].node;
      in_first += at == 0 ? 1 : 0;
      if (at != node && at != node + 1) {
        devices.fail("device " + std::to_string(i) + " in node " + std::to_string(at) +
                         " after one in node " + std::to_string(node),
                     "devices in the order of their nodes, which are numbered from 0 without gaps");
        return;
      }
      node = at;
    }
    cluster_.nodes = node + 1;
    cluster_.devices_per_node = static_cast<int>(in_first);
    if (t_.node_kind.size() > index(cluster_.nodes)) {
      in_.take("node_kinds")
          .fail(std::to_string(t_.node_kind.size()) + " entries",
                "one for each of " + std::to_string(cluster_.nodes) + " nodes");
    }
  }

  Reader& in_;
  fs::path folder_;
  cost::Cluster cluster_;
  Topology& t_ = cluster_.topology;
  std::map<std::string, VertexId> ids_;
  std::map<VertexId, std::size_t> ranks_;
};

}  // namespace

cost::Cluster read_graph(Reader& in, const fs::path& folder) {
  return GraphReader(in, folder).read();
}

}  // namespace tsim::sim
