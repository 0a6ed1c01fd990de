#include "sim/input/import/import_simgrid.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "sim/input/import/xml_document.hpp"
#include "sim/input/quantity.hpp"
#include "sim/input/read_device.hpp"
#include "sim/input/read_document.hpp"

namespace tsim::sim {
namespace {

using cost::FixedRoutes;

std::string speed_text(double flops) {
  std::ostringstream out;
  out.precision(6);
  out << flops / 1e9 << " GFLOP/s";
  return out.str();
}

/// A device that reaches `speed` at whatever it computes; the rest is the CPU file's.
cost::Device device_of(const cost::Device& base, double speed) {
  cost::Device device = base;
  device.name = "host-" + speed_text(speed);
  std::ranges::replace(device.name, ' ', '-');
  std::ranges::replace(device.name, '/', '-');
  device.description = "SimGrid host of " + speed_text(speed);
  for (cost::PeakRate& peak : device.matrix_peaks) { peak.rate = {speed}; }
  device.vector_peak = {speed};
  device.gemm.ceiling = 1;
  device.gemm.half_k = 0;
  device.path.clear();
  return device;
}

/// Kinds of device, and the kind of each host.
struct Kinds {
  std::vector<cost::Device> devices;
  std::vector<std::int32_t> of_host;
};

Kinds kinds_of(const Platform& platform, const ImportOptions& options,
               std::vector<std::string>& assumptions) {
  Kinds kinds;
  if (!options.device.empty()) {
    kinds.devices = {read_device(options.device)};
    kinds.of_host.assign(platform.hosts.size(), 0);
    return kinds;
  }
  const cost::Device base = read_device("cpu");
  std::map<double, std::int32_t> known;
  for (const PlatformHost& host : platform.hosts) {
    const auto [entry, is_new] =
        known.try_emplace(host.speed, static_cast<std::int32_t>(known.size()));
    if (is_new) { kinds.devices.push_back(device_of(base, host.speed)); }
    kinds.of_host.push_back(entry->second);
  }
  assumptions.emplace_back(
      "devices: each host's speed, cores together; number formats, memory and the rest of the "
      "device file cpu; --device sets another");
  return kinds;
}

/// Links whose every flow has the bandwidth to itself limit nothing where another link of each of
/// their routes is no faster.
class FatPipes {
 public:
  FatPipes(const Platform& platform, Problems& problems)
      : platform_(platform), problems_(problems) {}

  /// By link: whether it can be left out of the sharing.
  std::vector<bool> find() {
    const FixedRoutes& routes = platform_.routes;
    std::map<std::int32_t, double> up, down;  // by place: the fastest way of its hosts
    for (std::size_t i = 0; i < routes.place.size(); ++i) {
      note(up, routes.place[i], routes.up[i]);
      note(down, routes.place[i], routes.down[i]);
    }
    for (const auto& [places, way] : routes.between) {
      check(way.links, std::min({slowest(way.links), up.at(places.first), down.at(places.second)}));
    }
    for (std::size_t i = 0; i < routes.place.size(); ++i) {
      for (const auto* links : {&routes.up[i], &routes.down[i]}) { check(*links, slowest(*links)); }
    }
    std::vector<bool> free;
    for (const PlatformLink& link : platform_.links) { free.push_back(!link.shared); }
    return free;
  }

 private:
  const PlatformLink& link(std::int32_t i) const {
    return platform_.links[static_cast<std::size_t>(i)];
  }
  double slowest(const std::vector<std::int32_t>& links) const {
    double rate = 1e300;
    for (const std::int32_t i : links) {
      if (link(i).shared) { rate = std::min(rate, link(i).bandwidth); }
    }
    return rate;
  }
  void note(std::map<std::int32_t, double>& fastest, std::int32_t place,
            const std::vector<std::int32_t>& links) const {
    double& rate = fastest[place];
    rate = std::max(rate, slowest(links));
  }
  void check(const std::vector<std::int32_t>& links, double others) {
    for (const std::int32_t i : links) {
      if (link(i).shared || link(i).bandwidth >= others || !told_.insert(i).second) { continue; }
      problems_.add({.path = "link " + link(i).name,
                     .found = "FATPIPE of " + rate_text(link(i).bandwidth) +
                              ", which caps each flow below the other links of its routes",
                     .expected = "a FATPIPE that never limits, or a shared link"});
    }
  }

  const Platform& platform_;
  Problems& problems_;
  std::set<std::int32_t> told_;
};

/// The links of hosts that each have one up and one down that no other host has, if all are so.
std::optional<std::set<std::int32_t>> own_links(const Platform& platform) {
  const FixedRoutes& routes = platform.routes;
  std::set<std::int32_t> own;
  for (std::size_t i = 0; i < platform.hosts.size(); ++i) {
    for (const auto* links : {&routes.up[i], &routes.down[i]}) {
      if (links->size() != 1 || !own.insert(links->front()).second) { return std::nullopt; }
    }
  }
  return own;
}

/// One link up and one down of one rate, the same for all hosts, and nothing between: what a NIC
/// and a network that never limits are. The link, if it is so.
std::optional<cost::LinkSpec> plain_star(const Platform& platform, const Kinds& kinds) {
  const FixedRoutes& routes = platform.routes;
  if (kinds.devices.size() != 1 || routes.between.size() != 1) { return std::nullopt; }
  if (!routes.between.begin()->second.links.empty()) { return std::nullopt; }
  const std::optional<std::set<std::int32_t>> own = own_links(platform);
  if (!own || own->empty()) { return std::nullopt; }
  const PlatformLink& first = platform.links[static_cast<std::size_t>(*own->begin())];
  for (const std::int32_t i : *own) {
    const PlatformLink& link = platform.links[static_cast<std::size_t>(i)];
    if (!link.shared || link.bandwidth != first.bandwidth || link.latency != first.latency) {
      return std::nullopt;
    }
  }
  return cost::LinkSpec{BytesPerSecond{first.bandwidth}, Seconds{first.latency}, true};
}

cost::ClusterDesign star_of(const Platform& platform, const Kinds& kinds,
                            const cost::LinkSpec& wire) {
  cost::NodeDesign node;
  node.devices.resize(1);
  node.nics.push_back({{}, wire, {0}});
  cost::ClusterDesign design;
  design.devices = kinds.devices;
  design.nodes = {{std::move(node), static_cast<int>(platform.hosts.size())}};
  return design;
}

/// Hosts and links as they are named. A link leads from a vertex of its own to a common one: where
/// it really is, SimGrid does not say.
cost::Cluster graph_of(const Platform& platform, const Kinds& kinds,
                       const std::vector<bool>& free) {
  cost::Cluster cluster;
  cluster.devices = kinds.devices;
  cost::Topology& t = cluster.topology;
  const auto vertex = [&](cost::VertexKind kind, std::string name, std::int32_t node) {
    t.vertices.push_back({kind, std::move(name), node});
    return static_cast<cost::VertexId>(t.vertices.size() - 1);
  };
  std::int32_t node = 0;
  for (const PlatformHost& host : platform.hosts) {
    t.devices.push_back(vertex(cost::VertexKind::device, host.name, node++));
  }
  const cost::VertexId common = vertex(cost::VertexKind::network_switch, "platform", -1);
  for (std::size_t i = 0; i < platform.links.size(); ++i) {
    const PlatformLink& link = platform.links[i];
    const cost::VertexId own = vertex(cost::VertexKind::network_switch, "link " + link.name, -1);
    const BytesPerSecond rate = free[i] ? cost::kUnlimited : BytesPerSecond{link.bandwidth};
    t.links.push_back({cost::LinkKind::fabric, own, common, rate, Seconds{link.latency}, false});
  }
  t.device_kind = kinds.of_host;
  t.node_kind = kinds.of_host;
  t.routes = platform.routes;
  finish(t);
  cluster.nodes = static_cast<int>(platform.hosts.size());
  cluster.devices_per_node = 1;
  return cluster;
}

bool figures_fit(const Platform& platform, Problems& problems) {
  for (const PlatformLink& link : platform.links) {
    const bool fits = link.bandwidth > 0 && link.bandwidth <= largest(Dimension::rate) &&
                      link.latency >= 0 && link.latency <= largest(Dimension::time);
    if (fits) { continue; }
    problems.add({.path = "link " + link.name,
                  .found = rate_text(link.bandwidth),
                  .expected = "a rate above 0 and a latency from 0"});
  }
  for (const PlatformHost& host : platform.hosts) {
    if (host.speed > 0 && host.speed <= largest(Dimension::compute)) { continue; }
    problems.add({.path = "host " + host.name,
                  .found = speed_text(host.speed),
                  .expected = "a speed above 0"});
  }
  return problems.empty();
}

}  // namespace

ImportedCluster cluster_of(const Platform& platform, const ImportOptions& options,
                           Problems& problems) {
  ImportedCluster imported;
  imported.format = "SimGrid platform";
  if (!figures_fit(platform, problems)) { return imported; }
  const Kinds kinds = kinds_of(platform, options, imported.assumptions);
  const std::vector<bool> free = FatPipes(platform, problems).find();
  imported.summary = std::to_string(platform.hosts.size()) + " hosts, " +
                     std::to_string(platform.links.size()) + " links that routes use";
  const std::optional<cost::LinkSpec> wire = plain_star(platform, kinds);
  if (wire) {
    imported.cluster = star_of(platform, kinds, *wire);
    imported.summary += ", a star";
  } else {
    imported.cluster = graph_of(platform, kinds, free);
    imported.summary += ", routes kept as they are";
  }
  imported.assumptions.emplace_back(
      "bandwidths and latencies as the file states them: without SimGrid's factors for TCP; "
      "loopbacks, disks and profiles are left out");
  return imported;
}

ImportedCluster import_simgrid(const std::filesystem::path& file, const ImportOptions& options,
                               Problems& problems) {
  std::string why;
  const std::optional<std::string> text = file_text(file, why);
  if (!text) {
    problems.add({.found = why});
    return {};
  }
  const std::optional<XmlElement> root = parse_xml(*text, problems);
  if (!root) { return {}; }
  if (root->name != "platform") {
    problems.add({.path = root->place,
                  .found = "<" + root->name + ">",
                  .expected = "<platform>, the root of SimGrid's platform files"});
    return {};
  }
  const std::optional<Platform> platform = load_platform(file, why);
  if (platform) { return cluster_of(*platform, options, problems); }
  problems.add({.found = "SimGrid does not read it: " + why});
  return {};
}

}  // namespace tsim::sim
