#include <ostream>

#include "sim/cli/commands.hpp"
#include "sim/cli/print_topo.hpp"
#include "sim/cli/setting_texts.hpp"
#include "sim/cli/write_file.hpp"
#include "sim/input/read_cluster.hpp"

namespace tsim::cli {
namespace {

constexpr std::int64_t kMostPairs = 1'000'000;

cost::Cluster read(const TopoOptions& options) {
  cost::Cluster cluster = sim::read_cluster(options.cluster, setting_texts(options.settings));
  const std::int64_t pairs = sim::pair_count(cluster);
  if (options.all && pairs > kMostPairs) {
    throw sim::InputErrors(options.cluster,
                           {{.path = "--all",
                             .found = std::to_string(pairs) + " pairs of devices",
                             .expected = "at most " + std::to_string(kMostPairs),
                             .hint = "without --all, one of each sort is listed"}});
  }
  return cluster;
}

}  // namespace

int topo_command(const TopoOptions& options, std::ostream& out, std::ostream&) {
  const cost::Cluster cluster = read(options);
  const sim::TopologyReport report = sim::describe(cluster, options.all);
  if (!options.svg.empty()) {
    write_file(options.svg, [&](std::ostream& file) { draw_topology(cluster, file); });
  }
  if (!options.dot.empty()) {
    write_file(options.dot, [&](std::ostream& file) { print_dot(cluster, options.all, file); });
  }
  if (options.json) {
    print_topo_json(report, out);
  } else {
    print_topo_text(report, options, out);
  }
  return 0;
}

}  // namespace tsim::cli
