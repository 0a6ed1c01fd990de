#include "sim/input/read_cluster.hpp"

#include <array>

#include "sim/input/data_files.hpp"
#include "sim/input/read_device.hpp"
#include "sim/input/rules/plausible.hpp"
#include "sim/input/suggest.hpp"

namespace tsim::sim {
namespace fs = std::filesystem;
namespace {

constexpr std::array kNodeKinds{cost::NodeKind::nvswitch, cost::NodeKind::pcie,
                                cost::NodeKind::direct};
constexpr std::int64_t kMostDevices = 100'000;  // memory of a machine, not a rule of nature
constexpr std::int64_t kMostInNode = 1024;
constexpr std::int64_t kMostDirectInNode = 32;  // links grow with the square

Seconds read_latency(const Place& place, std::optional<double> fallback = {}) {
  const Seconds latency{read_quantity(place, Dimension::time, fallback, true)};
  warn_if_slow_crossing(place, latency);
  return latency;
}

cost::NodeWiring read_node(Reader in, int devices_per_node) {
  cost::NodeWiring node;
  const std::size_t before = in.source().problems->errors().size();
  node.kind = read_choice<cost::NodeKind>(in.take("kind"), kNodeKinds);
  const bool kind_known = in.source().problems->errors().size() == before;
  const bool pcie = node.kind == cost::NodeKind::pcie;
  const Place bandwidth = in.take("bandwidth");
  node.bandwidth = {read_quantity(bandwidth, Dimension::rate)};
  warn_if_fast_link(bandwidth, node.bandwidth, pcie);
  node.latency = read_latency(in.take("latency"));
  node.host_latency = node.latency;
  node.uplink_bandwidth = node.bandwidth;
  if (pcie) {
    node.devices_per_switch =
        static_cast<int>(read_count(in.take("devices_per_switch"), {1, kMostInNode}, 0));
    const Place uplink = in.take("uplink_bandwidth");
    node.uplink_bandwidth = {read_quantity(uplink, Dimension::rate, node.bandwidth.value)};
    warn_if_fast_link(uplink, node.uplink_bandwidth, pcie);
    node.host_latency = read_latency(in.take("host_latency"), node.latency.value);
  }
  if (node.kind == cost::NodeKind::direct && devices_per_node > kMostDirectInNode) {
    in.take("kind").fail(
        "\"direct\" with " + std::to_string(devices_per_node) + " devices",
        "at most " + std::to_string(kMostDirectInNode) + " devices that are linked pair by pair",
        "\"nvswitch\"");
  }
  if (kind_known) { in.finish(); }  // else nobody knows which keys belong here
  return node;
}

cost::NetworkWiring read_network(Reader in) {
  cost::NetworkWiring network;
  network.nics_per_node = static_cast<int>(read_count(in.take("nics_per_node"), {1, 1024}, 1));
  const Place bandwidth = in.take("bandwidth");
  network.bandwidth = {read_quantity(bandwidth, Dimension::rate)};
  warn_if_fast_nic(bandwidth, network.bandwidth);
  network.latency = read_latency(in.take("latency"));
  network.efficiency =
      read_real(in.take("efficiency"), {.least = 0.0, .most = 1.0, .above = true}, 1.0);
  in.finish();
  return network;
}

/// A missing object is told once, not key by key.
bool required(const Place& place, bool needed, const std::string& expected) {
  if (needed && !place.present()) { place.fail("nothing", expected); }
  return place.present();
}

cost::ClusterSpec read_object(const Place& place, const fs::path& folder) {
  cost::ClusterSpec spec;
  Reader in(place);
  spec.name = read_text(in.take("name"), "");
  read_text(in.take("description"), "");
  read_text(in.take("source"), "");
  spec.nodes = static_cast<int>(read_count(in.take("nodes"), {1, kMostDevices}, 1));
  spec.devices_per_node =
      static_cast<int>(read_count(in.take("devices_per_node"), {1, kMostInNode}));
  spec.device = read_device(in.take("device"), folder);
  const Place node = in.take("node");
  const Place network = in.take("network");
  if (required(node, spec.devices_per_node > 1,
               "the wiring inside a node, as devices_per_node is " +
                   std::to_string(spec.devices_per_node))) {
    spec.node = read_node(Reader(node), spec.devices_per_node);
  }
  if (required(network, spec.nodes > 1,
               "the wiring between nodes, as nodes is " + std::to_string(spec.nodes))) {
    spec.network = read_network(Reader(network));
  }
  in.finish();
  const std::int64_t devices = std::int64_t{spec.nodes} * spec.devices_per_node;
  if (devices > kMostDevices) {
    in.take("nodes").fail("nodes*devices_per_node = " + std::to_string(devices),
                          "at most " + std::to_string(kMostDevices) + " devices");
  }
  return spec;
}

/// A cluster file's document and its place on disk; none, and a problem, when it cannot be read.
struct ClusterFile {
  fs::path path;
  Json document;
};

std::optional<ClusterFile> open_file(const Place& place, const fs::path& folder) {
  const std::string written = read_text(place);
  if (written.empty()) { return std::nullopt; }
  const std::optional<fs::path> path = looks_like_path(written)
                                           ? find_path(written, folder)
                                           : find_named(written, "clusters", folder);
  if (!path) {
    const std::vector<std::string> names = names_in("clusters", folder);
    const std::vector<std::string_view> views(names.begin(), names.end());
    place.fail(in_quotes(written),
               "an object, the path of a cluster file" +
                   (views.empty() ? "" : " or one of " + join(views)),
               looks_like_path(written) ? "no such file" : did_you_mean(written, views));
    return std::nullopt;
  }
  std::optional<Json> document = read_json_file(*path, *place.source->problems);
  if (!document) { return std::nullopt; }
  return ClusterFile{*path, *std::move(document)};
}

cost::ClusterSpec read_file(const ClusterFile& file, Problems& problems) {
  const Source source{.problems = &problems, .file = file.path.string()};
  cost::ClusterSpec spec = read_object({&file.document, "", &source}, file.path.parent_path());
  if (spec.name.empty()) { spec.name = file.path.stem().string(); }
  return spec;
}

/// The file's cluster with the keys at `place` set over it; wiring objects are merged key by key.
cost::ClusterSpec read_changed(const Place& place, const Place& base, const fs::path& folder) {
  std::optional<ClusterFile> file = open_file(base, folder);
  if (!file) { return {}; }
  Problems of_file;
  read_file(*file, of_file);
  for (const InputError& error : of_file.errors()) { place.source->problems->add(error); }
  if (!of_file.empty() || !file->document.is_object()) { return {}; }
  Json changes = *place.value;
  changes.erase("base");
  const Json merged = with_changes(file->document, changes);
  cost::ClusterSpec spec =
      read_object({&merged, place.path, place.source}, file->path.parent_path());
  if (spec.name.empty()) { spec.name = file->path.stem().string() + ", changed"; }
  return spec;
}

}  // namespace

cost::ClusterSpec read_cluster(const Place& place, const fs::path& scenario_folder) {
  if (!place.present()) {
    place.fail("nothing", "an object or the path of a cluster file");
    return {};
  }
  if (place.value->is_string()) {
    const std::optional<ClusterFile> file = open_file(place, scenario_folder);
    return file ? read_file(*file, *place.source->problems) : cost::ClusterSpec{};
  }
  if (place.value->is_object() && place.value->contains("base")) {
    Reader in(place);
    return read_changed(place, in.take("base"), scenario_folder);
  }
  return read_object(place, scenario_folder);
}

cost::ClusterSpec read_cluster(std::string_view name_or_path) {
  Problems problems;
  const Source source{.problems = &problems};
  const Json text = std::string(name_or_path);
  cost::ClusterSpec spec = read_cluster(Place{&text, "", &source}, fs::path());
  if (!problems.empty()) { throw InputErrors(std::string(name_or_path), problems.errors()); }
  return spec;
}

}  // namespace tsim::sim
