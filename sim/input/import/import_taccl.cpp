#include "sim/input/import/import_taccl.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "sim/input/import/taccl_sketch.hpp"
#include "sim/input/quantity.hpp"
#include "sim/input/read_device.hpp"

namespace tsim::sim {
namespace {

constexpr std::int64_t kMostGpus = 256;
constexpr RealRange kFigures{.least = 0.0, .most = 1e9, .above = true};

std::size_t index(int i) { return static_cast<std::size_t>(i); }

/// Microseconds, and microseconds for 10^6 bytes.
struct Figures {
  double alpha = 0, beta = 1;
};

cost::LinkSpec link_of(const Figures& f) {
  return {BytesPerSecond{1e12 / f.beta}, Seconds{f.alpha * 1e-6}, true};
}

struct TacclTopology {
  std::string name;
  int gpus = 1, nics = 0;
  double alpha = 0;
  std::vector<double> betas;                // of links that a matrix or a known machine has
  std::vector<std::vector<double>> matrix;  // [from][to]: beta; 0: no link. Empty: a switch
  Figures remote;
};

/// Two NVLinks between the pairs that have the first beta, one between those with the second.
///   [github.com/microsoft/taccl, taccl/topologies/generic.py, ndv2]
std::vector<std::vector<double>> cube_mesh(double two, double one) {
  constexpr std::array<std::array<int, 8>, 8> kLanes{{{0, 2, 1, 1, 2, 0, 0, 0},
                                                      {2, 0, 1, 2, 0, 1, 0, 0},
                                                      {1, 1, 0, 2, 0, 0, 2, 0},
                                                      {1, 2, 2, 0, 0, 0, 0, 1},
                                                      {2, 0, 0, 0, 0, 2, 1, 1},
                                                      {0, 1, 0, 0, 2, 0, 1, 2},
                                                      {0, 0, 2, 0, 1, 1, 0, 2},
                                                      {0, 0, 0, 1, 1, 2, 2, 0}}};
  std::vector<std::vector<double>> matrix(8, std::vector<double>(8, 0.0));
  for (std::size_t i = 0; i < 8; ++i) {
    for (std::size_t j = 0; j < 8; ++j) {
      matrix[i][j] = kLanes[i][j] == 2 ? two : kLanes[i][j] == 1 ? one : 0.0;
    }
  }
  return matrix;
}

std::vector<std::vector<double>> read_matrix(const Place& place, int gpus) {
  std::vector<std::vector<double>> matrix;
  for (const Place& row : read_entries(place)) {
    matrix.emplace_back();
    for (const Place& cell : read_entries(row)) {
      matrix.back().push_back(read_real(cell, {.least = 0.0, .most = 1e9}));
    }
    if (static_cast<int>(matrix.back().size()) != gpus) {
      row.fail(std::to_string(matrix.back().size()) + " figures",
               std::to_string(gpus) + ", one for each GPU");
    }
  }
  if (static_cast<int>(matrix.size()) != gpus) {
    place.fail(std::to_string(matrix.size()) + " rows",
               std::to_string(gpus) + ", one for each GPU");
  }
  return matrix;
}

/// The beta of all links from GPU i to GPU j together; those before it in the matrix are known.
void join_links(const Place& betas, TacclTopology& topology, std::size_t i, std::size_t j,
                double links) {
  double& beta = topology.matrix[i][j];
  const std::string at = "/" + std::to_string(i) + "/" + std::to_string(j);
  if (links > 0 && !(beta > 0)) {
    betas.fail("no beta at " + at + ", where there is a link", "us/MB above 0");
  }
  beta = links > 0 ? beta / links : 0.0;
  const bool mirrored = j < i && topology.matrix[j][i] != beta;
  if (mirrored || (i == j && beta > 0)) {
    betas.fail("figures at " + at + " unlike their mirror image",
               "links that are alike both ways, and none to oneself");
  }
}

void read_links(Reader& in, TacclTopology& topology) {
  const Place links = in.take("links"), betas = in.take("betas");
  in.take("invbws");  // alpha + beta of one chunk
  const std::size_t before = in.source().problems->errors().size();
  const std::vector<std::vector<double>> linked = read_matrix(links, topology.gpus);
  topology.matrix = read_matrix(betas, topology.gpus);
  if (in.source().problems->errors().size() != before) { return; }
  for (std::size_t i = 0; i < linked.size(); ++i) {
    for (std::size_t j = 0; j < linked.size(); ++j) {
      join_links(betas, topology, i, j, linked[i][j]);
    }
  }
}

/// TACCL's own files for chunks of 1 KB count hundredths of a microsecond, and betas for 1 KB:
/// their alphas of 30 and 260 are the 0.3 and 2.6 us of the files for 1 MB.
bool counts_kilobytes(const TacclTopology& topology) { return topology.name.ends_with("KB"); }

void to_microseconds(TacclTopology& topology) {
  if (!counts_kilobytes(topology)) { return; }
  constexpr double kAlpha = 0.01, kBeta = 0.01 * 1000;
  topology.alpha *= kAlpha;
  topology.remote.alpha *= kAlpha;
  topology.remote.beta *= kBeta;
  for (double& beta : topology.betas) { beta *= kBeta; }
  for (auto& row : topology.matrix) {
    for (double& beta : row) { beta *= kBeta; }
  }
}

TacclTopology read_topology(const Place& place) {
  TacclTopology topology;
  Reader in(place);
  topology.name = read_text(in.take("name"));
  topology.gpus = static_cast<int>(read_count(in.take("gpus_per_node"), {1, kMostGpus}));
  topology.alpha = read_real(in.take("alpha"), {.least = 0.0, .most = 1e9});
  const Place betas = in.take("node_betas_list");
  in.take("node_invbws_list");
  if (betas.present()) {
    for (const Place& beta : read_entries(betas)) {
      topology.betas.push_back(read_real(beta, kFigures));
    }
    const bool mesh = topology.betas.size() == 2 && topology.gpus == 8;
    if (mesh) { topology.matrix = cube_mesh(topology.betas[0], topology.betas[1]); }
    if (!mesh && topology.betas.size() != 1) {
      betas.fail(std::to_string(topology.betas.size()) + " betas",
                 "one (a switch), or two with 8 GPUs (the cube mesh of an NDv2)",
                 R"(other topologies state "links" and "betas")");
    }
  } else {
    read_links(in, topology);
  }
  const Place nics = in.take("nics_per_node");
  if (nics.present()) {
    topology.nics = static_cast<int>(read_count(nics, {0, kMostGpus}));
    topology.remote.alpha = read_real(in.take("remote_alpha"), {.least = 0.0, .most = 1e9});
    topology.remote.beta = read_real(in.take("remote_beta"), kFigures);
    in.take("remote_invbw");
  }
  to_microseconds(topology);
  return topology;
}

/// By GPU: the NIC it is linked to; -1 for none. As relays say (a sender and its receivers have one
/// together), else neighbours share one.
std::vector<int> nics_of(const TacclTopology& topology, const TacclSketch& sketch) {
  std::vector<int> nic(index(topology.gpus), -1);
  if (topology.nics == 0) { return nic; }
  if (!sketch.relays) {
    for (int i = 0; i < topology.gpus; ++i) { nic[index(i)] = i * topology.nics / topology.gpus; }
    return nic;
  }
  std::vector<int> group(index(topology.gpus));
  std::iota(group.begin(), group.end(), 0);
  std::vector<bool> used(group.size(), false);
  for (const auto& [sender, receiver] : *sketch.relays) {
    used[index(sender)] = used[index(receiver)] = true;
    const int kept = group[index(sender)], gone = group[index(receiver)];
    std::ranges::replace(group, gone, kept);
  }
  std::vector<int> groups;
  for (int i = 0; i < topology.gpus; ++i) {
    const bool seen = std::ranges::count(groups, group[index(i)]) > 0;
    if (used[index(i)] && !seen) { groups.push_back(group[index(i)]); }
  }
  const int count = static_cast<int>(groups.size());
  for (int i = 0; i < topology.gpus; ++i) {
    if (!used[index(i)]) { continue; }
    const auto at = std::ranges::find(groups, group[index(i)]) - groups.begin();
    nic[index(i)] = static_cast<int>(at) * std::min(topology.nics, count) / count;
  }
  return nic;
}

/// Wires nodes one by one.
class Wiring {
 public:
  Wiring(const TacclTopology& topology, const TacclSketch& sketch, cost::Topology& t)
      : topology_(topology), sketch_(sketch), t_(t), nics_(nics_of(topology, sketch)) {}

  void wire(int nodes) {
    cost::VertexId network = -1;
    if (nodes > 1) { network = vertex(cost::VertexKind::network_switch, "network", -1); }
    for (int n = 0; n < nodes; ++n) { wire_node(n, network); }
    finish(t_);
  }

 private:
  cost::VertexId vertex(cost::VertexKind kind, std::string name, int node) {
    t_.vertices.push_back({kind, std::move(name), node});
    return static_cast<cost::VertexId>(t_.vertices.size() - 1);
  }

  void link(cost::LinkKind kind, cost::VertexId a, cost::VertexId b, const cost::LinkSpec& spec) {
    t_.links.push_back({kind, a, b, spec.bandwidth, spec.latency, true});
  }

  void wire_node(int n, cost::VertexId network) {
    const std::string prefix = "node" + std::to_string(n) + "/";
    std::vector<cost::VertexId> gpus;
    for (int i = 0; i < topology_.gpus; ++i) {
      gpus.push_back(vertex(cost::VertexKind::device, prefix + "gpu" + std::to_string(i), n));
      t_.devices.push_back(gpus.back());
    }
    t_.node_kind.push_back(0);
    if (topology_.matrix.empty()) {
      wire_switches(gpus, prefix, n);
    } else {
      wire_pairs(gpus);
    }
    if (network >= 0) { wire_nics(gpus, prefix, network); }
  }

  void wire_pairs(const std::vector<cost::VertexId>& gpus) {
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      for (std::size_t j = i + 1; j < gpus.size(); ++j) {
        const double beta = topology_.matrix[i][j];
        if (beta > 0) {
          link(cost::LinkKind::nvlink, gpus[i], gpus[j], link_of({topology_.alpha, beta}));
        }
      }
    }
  }

  void wire_switches(const std::vector<cost::VertexId>& gpus, const std::string& prefix, int n) {
    std::vector<std::vector<int>> groups = sketch_.switches;
    if (groups.empty()) {
      groups.emplace_back(gpus.size());
      std::iota(groups[0].begin(), groups[0].end(), 0);
    }
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const cost::VertexId hub =
          vertex(cost::VertexKind::nvswitch, prefix + "nvswitch" + std::to_string(g), n);
      for (const int i : groups[g]) {
        link(cost::LinkKind::nvlink, gpus[index(i)], hub,
             link_of({topology_.alpha / 2, topology_.betas[0]}));
      }
    }
  }

  void wire_nics(const std::vector<cost::VertexId>& gpus, const std::string& prefix,
                 cost::VertexId network) {
    std::vector<cost::VertexId> nics;
    const int node = t_.vertices[static_cast<std::size_t>(gpus[0])].node;
    for (int k = 0; k <= *std::ranges::max_element(nics_); ++k) {
      nics.push_back(vertex(cost::VertexKind::nic, prefix + "nic" + std::to_string(k), node));
      link(cost::LinkKind::nic, nics.back(), network,
           link_of({topology_.remote.alpha / 2, topology_.remote.beta}));
    }
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      const int nic = nics_[i];
      t_.device_nic.push_back(nic < 0 ? -1 : nics[index(nic)]);
      if (nic >= 0) { link(cost::LinkKind::pcie, gpus[i], nics[index(nic)], {}); }
    }
  }

  const TacclTopology& topology_;
  const TacclSketch& sketch_;
  cost::Topology& t_;
  std::vector<int> nics_;  // by GPU
};

std::string text_of(double value) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) { text.pop_back(); }
  return text;
}

void describe(ImportedCluster& imported, const TacclTopology& topology, const TacclSketch& sketch,
              int nodes) {
  imported.format = "TACCL topology";
  imported.summary = topology.name + ": " + std::to_string(nodes) + " nodes of " +
                     std::to_string(topology.gpus) + " GPUs, alpha " + text_of(topology.alpha) +
                     " us";
  auto& assumptions = imported.assumptions;
  assumptions.emplace_back(counts_kilobytes(topology)
                               ? "alphas are hundredths of a us and betas the same for 1 KB, as in "
                                 "TACCL's own files that "
                                 "are named so"
                               : "alphas are us and betas us/MB (10^6 bytes)");
  assumptions.emplace_back("the figures hold for chunks of the size that they were profiled with");
  if (topology.matrix.empty()) {
    assumptions.emplace_back(sketch.switches.empty()
                                 ? "one beta: all GPUs of a node on a switch"
                                 : "the sketch's groups of GPUs, each on a switch of its own");
  } else if (!topology.betas.empty()) {
    assumptions.emplace_back("two betas for 8 GPUs: the cube mesh of an NDv2 (DGX-1)");
  }
  if (nodes > 1) {
    assumptions.emplace_back(
        sketch.relays ? "only GPUs that the sketch lets talk between nodes have a NIC; a "
                        "sender and its receivers share one"
                      : "NICs dealt evenly to the GPUs of a node");
  }
  if (sketch.chunks > 1) {
    assumptions.push_back("the sketch cuts every rank's input in " + std::to_string(sketch.chunks) +
                          " chunks: a matter of the program");
  }
}

}  // namespace

ImportedCluster import_taccl(const TacclFiles& files, const ImportOptions& options,
                             Problems& problems) {
  ImportedCluster imported;
  const std::optional<Json> document = parse_json(files.topology, "", problems);
  if (!document) { return imported; }
  const Source source{.problems = &problems};
  const TacclTopology topology = read_topology({&*document, "", &source});
  TacclSketch sketch;
  sketch.nodes = options.nodes;
  std::optional<Json> sketched;
  const Source sketch_source{.problems = &problems, .file = files.sketch_file};
  if (!files.sketch.empty() && problems.empty()) {
    sketched = parse_json(files.sketch, files.sketch_file, problems);
    if (sketched) { sketch = read_taccl_sketch({&*sketched, "", &sketch_source}, topology.gpus); }
  }
  if (problems.empty() && sketch.nodes > 1 && topology.nics == 0) {
    problems.add({.path = "/nics_per_node",
                  .found = "none",
                  .expected = "NICs, as there are " + std::to_string(sketch.nodes) + " nodes"});
  }
  if (problems.empty() && sketch.nodes > 1 && sketch.relays && sketch.relays->empty()) {
    problems.add({.path = "/internode_sketch/internode_conn",
                  .found = "nothing",
                  .expected = "GPUs that talk between nodes",
                  .file = files.sketch_file});
  }
  if (!problems.empty()) { return imported; }
  describe(imported, topology, sketch, sketch.nodes);
  const bool told = !options.device.empty();
  cost::Cluster cluster;
  cluster.devices = {read_device(told ? options.device : "v100-sxm2-32g")};
  if (!told) {
    imported.assumptions.emplace_back(
        "devices: v100-sxm2-32g, as NDv2 and DGX-2 have them; --device sets another");
  }
  cluster.nodes = sketch.nodes;
  cluster.devices_per_node = topology.gpus;
  Wiring(topology, sketch, cluster.topology).wire(sketch.nodes);
  imported.cluster = std::move(cluster);
  return imported;
}

}  // namespace tsim::sim
