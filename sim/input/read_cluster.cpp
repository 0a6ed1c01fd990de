#include "sim/input/read_cluster.hpp"

#include <algorithm>

#include "cost/routing/joined.hpp"
#include "sim/input/clusters/named_file.hpp"
#include "sim/input/clusters/read_design.hpp"
#include "sim/input/clusters/read_graph.hpp"
#include "sim/input/clusters/read_spec.hpp"
#include "sim/input/suggest.hpp"

namespace tsim::sim {
namespace fs = std::filesystem;
namespace {

ClusterInput read_object(const Place& place, const fs::path& folder) {
  Reader in(place);
  if (in.readable() && (place.value->contains("vertices") || place.value->contains("links"))) {
    return read_graph(in, folder);
  }
  const bool parts =
      in.readable() && ((place.value->contains("nodes") && (*place.value)["nodes"].is_array()) ||
                        place.value->contains("fabric"));
  if (parts) { return read_design(in, folder); }
  return read_spec(in, folder);
}

std::string& name_of(ClusterInput& input) {
  return std::visit([](auto& cluster) -> std::string& { return cluster.name; }, input);
}

ClusterInput read_file(const NamedFile& file, Problems& problems) {
  const Source source{.problems = &problems, .file = file.path.string()};
  ClusterInput input = read_object({&file.document, "", &source}, file.path.parent_path());
  if (name_of(input).empty()) { name_of(input) = file.path.stem().string(); }
  return input;
}

/// The file's cluster with the keys at `place` set over it; wiring objects are merged key by key.
ClusterInput read_changed(const Place& place, const Place& base, const fs::path& folder) {
  const std::optional<NamedFile> file = open_named(base, kClusterFiles, folder);
  if (!file) { return {}; }
  Problems of_file;
  read_file(*file, of_file);
  for (const InputError& error : of_file.errors()) { place.source->problems->add(error); }
  if (!of_file.empty() || !file->document.is_object()) { return {}; }
  Json changes = *place.value;
  changes.erase("base");
  const Json merged = with_changes(file->document, changes);
  ClusterInput input = read_object({&merged, place.path, place.source}, file->path.parent_path());
  if (name_of(input).empty()) { name_of(input) = file->path.stem().string() + ", changed"; }
  return input;
}

/// Builds what was read without a problem.
struct Builder {
  const Place& place;

  cost::Cluster operator()(const cost::ClusterSpec& spec) const { return build_cluster(spec); }
  cost::Cluster operator()(const cost::ClusterDesign& design) const {
    const std::vector<std::string> found = problems(design);
    for (const std::string& problem : found) { place.fail(problem, ""); }
    return found.empty() ? build_cluster(design) : cost::Cluster{};
  }
  cost::Cluster operator()(cost::Cluster cluster) const {
    finish(cluster.topology);
    return cluster;
  }
};

/// Devices that nothing joins, whatever may be passed on the way.
void check_joined(const Place& place, const cost::Topology& topology) {
  if (topology.devices.empty()) { return; }
  if (const auto apart = cost::devices_apart(topology)) {
    place.fail("no way from " + apart->from + " to " + apart->to, "links that join all devices");
  }
}

}  // namespace

ClusterInput read_cluster_input(const Place& place, const fs::path& scenario_folder) {
  if (!place.present()) {
    place.fail("nothing", "an object or the path of a cluster file");
    return {};
  }
  if (place.value->is_string()) {
    const std::optional<NamedFile> file = open_named(place, kClusterFiles, scenario_folder);
    return file ? read_file(*file, *place.source->problems) : ClusterInput{};
  }
  if (place.value->is_object() && place.value->contains("base")) {
    Reader in(place);
    return read_changed(place, in.take("base"), scenario_folder);
  }
  return read_object(place, scenario_folder);
}

std::int64_t stated_devices(const ClusterInput& input, const Problems& problems) {
  const auto in_files = [](const InputError& error) { return !error.file.empty(); };
  if (std::ranges::any_of(problems.errors(), in_files)) { return 0; }
  if (const auto* spec = std::get_if<cost::ClusterSpec>(&input)) {
    const bool known = problems.clean({"/cluster/nodes", "/cluster/devices_per_node"});
    return known ? std::int64_t{spec->nodes} * spec->devices_per_node : 0;
  }
  if (const auto* graph = std::get_if<cost::Cluster>(&input)) {
    return problems.clean({"/cluster/devices"}) ? device_count(*graph) : 0;
  }
  std::int64_t devices = 0;
  for (const cost::NodeGroup& group : std::get<cost::ClusterDesign>(input).nodes) {
    devices += std::int64_t{group.count} * static_cast<std::int64_t>(group.node.devices.size());
  }
  return problems.clean({"/cluster/nodes"}) ? devices : 0;
}

cost::Cluster build_cluster(ClusterInput input, const Place& place) {
  const std::size_t before = place.source->problems->errors().size();
  cost::Cluster cluster = std::visit(Builder{place}, std::move(input));
  check_joined(place, cluster.topology);
  return place.source->problems->errors().size() == before ? cluster : cost::Cluster{};
}

cost::Cluster read_cluster(const Place& place, const fs::path& scenario_folder) {
  const std::size_t before = place.source->problems->errors().size();
  ClusterInput input = read_cluster_input(place, scenario_folder);
  const bool whole = place.source->problems->errors().size() == before;
  return whole ? build_cluster(std::move(input), place) : cost::Cluster{};
}

cost::Cluster read_cluster(std::string_view name_or_path, std::span<const std::string> settings) {
  Problems problems;
  const Source source{.problems = &problems};
  const Json text = std::string(name_or_path);
  cost::Cluster cluster;
  if (auto file = open_named({&text, "", &source}, kClusterFiles, fs::path())) {
    // It is the file that was asked for: problems need not name it.
    for (const std::string& setting : settings) {
      apply_override(file->document, setting, problems);
    }
    const Place place{&file->document, "", &source};
    ClusterInput input = read_object(place, file->path.parent_path());
    if (name_of(input).empty()) { name_of(input) = file->path.stem().string(); }
    if (problems.empty()) { cluster = build_cluster(std::move(input), place); }
  }
  if (!problems.empty()) { throw InputErrors(std::string(name_or_path), problems.errors()); }
  return cluster;
}

}  // namespace tsim::sim
