#include <memory>

#include "sim/cli/options/commands.hpp"
#include "sim/net/net_lists.hpp"

namespace tsim::cli {
namespace {

std::vector<std::string_view> net_op_names() {
  std::vector<std::string_view> names = sim::op_names();
  names.emplace_back("parameter_server");
  return names;
}

void add_what(CLI::App& net, NetOptions& options) {
  net.add_option("CLUSTER", options.cluster, "The name or path of a cluster file")
      ->required()
      ->option_text(" ");
  net.add_option("--op", options.op, "The collective (all_reduce)")
      ->check(one_of(net_op_names()))
      ->type_name("NAME");
  net.add_option("--sizes", options.sizes,
                 "FIRST:LAST[:FACTOR], one size or several (1KiB:4GiB, times 2)")
      ->type_name("SIZES");
  net.add_option("--ranks", options.ranks, "Devices, such as 0-7,12 (all)")->type_name("LIST");
  net.add_option("--servers", options.servers,
                 "Devices that are the servers of --op parameter_server")
      ->type_name("LIST");
  net.add_option("--algorithm", options.algorithm, "auto, or an algorithm by name (auto)")
      ->type_name("NAME");
  net.add_option("--compare", options.compare, "Algorithms side by side, such as ring,tree")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAMES");
  net.add_option("--program", options.program,
                 "Steps of one's own: MSCCL XML or JSON, instead of --op and --algorithm")
      ->type_name("FILE");
  net.add_option("--fidelity", options.fidelity,
                 "aggregated: steps added up; steps: every step an event (aggregated)")
      ->check(one_of({"aggregated", "steps"}))
      ->type_name("NAME");
  net.add_option("--with", options.with,
                 "Another collective that starts with it; may be given more than once")
      ->allow_extra_args(false)
      ->type_name("OP:RANKS:SIZE");
}

}  // namespace

Added add_net(CLI::App& app) {
  const auto options = std::make_shared<NetOptions>();
  CLI::App& net =
      *app.add_subcommand("net", "Show what collectives take on a cluster, size by size");
  add_what(net, *options);
  net.add_flag("--links", options->links, "List the links' bytes and use at the last size");
  net.add_option("--plot", options->plot, "Write time and bus bandwidth against size as SVG")
      ->type_name("FILE");
  CLI::Option* const csv = net.add_flag("--csv", options->csv, "Print CSV instead of text");
  net.add_flag("--json", options->json, "Print JSON instead of text")->excludes(csv);
  net.footer("Example:\n  tsim net dgx_a100_pod --op all_reduce --sizes 1MiB:1GiB --ranks 0-15");
  return {&net, [options] { return Command{*options}; }};
}

}  // namespace tsim::cli
