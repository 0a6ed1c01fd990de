#include <memory>

#include "sim/cli/options/commands.hpp"

namespace tsim::cli {

Added add_topo(CLI::App& app) {
  struct Found {
    TopoOptions options;
    std::vector<std::string> settings;
  };
  const auto found = std::make_shared<Found>();
  CLI::App& topo = *app.add_subcommand("topo", "Show how a cluster is wired");
  topo.add_option("CLUSTER", found->options.cluster, "A cluster's name or file (docs/clusters.md)")
      ->required()
      ->option_text(" ");
  topo.add_flag("--pairs", found->options.pairs, "List bandwidth and latency of pairs of devices");
  topo.add_flag("--paths", found->options.paths, "The same, and the path of each");
  topo.add_flag("--all", found->options.all,
                "All nodes and pairs, not one node of each kind and one way of each sort");
  add_json(topo, found->options.json);
  topo.add_option("--svg", found->options.svg, "Draw it")->type_name("FILE");
  topo.add_option("--dot", found->options.dot, "Write the graph for Graphviz")->type_name("FILE");
  add_settings(topo, found->settings, "cluster");
  topo.footer("Example:\n  tsim topo dgx1_v100 --paths --svg dgx1.svg");
  return {&topo, [found] {
            TopoOptions options = found->options;
            options.settings = split_settings(found->settings);
            return Command{options};
          }};
}

}  // namespace tsim::cli
