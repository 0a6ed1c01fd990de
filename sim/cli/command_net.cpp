#include <algorithm>
#include <ostream>
#include <stdexcept>

#include "sim/cli/commands.hpp"
#include "sim/cli/print_net.hpp"
#include "sim/cli/write_file.hpp"
#include "sim/input/import/import_program.hpp"
#include "sim/input/input_error.hpp"
#include "sim/input/read_cluster.hpp"
#include "sim/input/read_document.hpp"
#include "sim/input/suggest.hpp"
#include "sim/net/net_lists.hpp"

namespace tsim::cli {
namespace {

using cost::CollectiveOp;
using sim::Problems;

/// The operation called so; parameter_server is an all_reduce of its own kind.
CollectiveOp op_named(std::string_view name) {
  const auto names = sim::op_names();
  const auto found = std::ranges::find(names, name);
  return found == names.end() ? CollectiveOp::all_reduce
                              : static_cast<CollectiveOp>(found - names.begin());
}

std::vector<int> all_devices(const cost::Cluster& cluster) {
  std::vector<int> devices(static_cast<std::size_t>(device_count(cluster)));
  for (std::size_t i = 0; i < devices.size(); ++i) { devices[i] = static_cast<int>(i); }
  return devices;
}

void check_algorithm(const std::string& name, CollectiveOp op, std::string_view flag,
                     Problems& problems) {
  std::vector<std::string_view> known = cost::collective_algorithms(op);
  known.insert(known.begin(), "auto");
  if (std::ranges::find(known, name) != known.end()) { return; }
  problems.add({std::string(flag), sim::in_quotes(name), "one of " + sim::join(known),
                sim::did_you_mean(name, known)});
}

/// OP:RANKS:SIZE
std::optional<sim::Beside> read_beside(const std::string& text, int devices, Problems& problems) {
  const std::size_t first = text.find(':'), last = text.rfind(':');
  const std::string name = text.substr(0, first);
  const auto names = sim::op_names();
  if (first == last || std::ranges::find(names, name) == names.end()) {
    problems.add({"--with", sim::in_quotes(text), "OP:RANKS:SIZE, such as all_reduce:8-15:64MiB",
                  sim::did_you_mean(name, names)});
    return std::nullopt;
  }
  sim::Beside beside;
  beside.op.op = op_named(name);
  beside.op.devices =
      sim::read_ranks(text.substr(first + 1, last - first - 1), devices, "--with", problems);
  const auto sizes = sim::read_sizes(text.substr(last + 1), "--with", problems);
  if (sizes.size() != 1 || beside.op.devices.empty()) { return std::nullopt; }
  beside.size = sizes[0];
  return beside;
}

struct Question {
  sim::NetRequest request;
  std::vector<Bytes> sizes;
  std::vector<std::string> algorithms;
};

void read_servers(const NetOptions& options, int devices, sim::NetOp& op, Problems& problems) {
  const bool asked = options.op == "parameter_server";
  if (!options.servers.empty() && !asked) {
    problems.add({"--servers", sim::in_quotes(options.servers), "--op parameter_server with it"});
  } else if (!options.servers.empty()) {
    op.servers = sim::read_ranks(options.servers, devices, "--servers", problems);
  } else if (asked) {
    op.servers = op.devices;  // every worker serves its part
  }
}

/// The program in a file, for as many ranks as there are devices.
void read_program(const NetOptions& options, sim::NetOp& op, Problems& problems) {
  const std::string file = options.program.string();
  Problems of_file;
  std::string why;
  const auto text = sim::file_text(options.program, why);
  if (!text) { of_file.add({.found = why}); }
  const auto imported = text ? sim::import_program(*text, of_file) : std::nullopt;
  for (sim::InputError error : of_file.errors()) {
    error.file = file;
    problems.add(std::move(error));
  }
  if (!imported || !of_file.empty()) { return; }
  const int ranks = imported->program.ranks;
  if (options.ranks.empty() && ranks < static_cast<int>(op.devices.size())) {
    op.devices.resize(static_cast<std::size_t>(ranks));
  }
  if (ranks != static_cast<int>(op.devices.size())) {
    problems.add({"--program", std::to_string(ranks) + " ranks in " + file,
                  "as many as devices, " + std::to_string(op.devices.size())});
  }
  op.op = imported->program.op;
  op.program = imported->program;
}

/// Checks all flags against the cluster.
Question read_question(const NetOptions& options, const cost::Cluster& cluster) {
  Problems problems;
  const int devices = device_count(cluster);
  Question q;
  sim::NetOp& op = q.request.op;
  op.op = op_named(options.op);
  op.devices = options.ranks.empty() ? all_devices(cluster)
                                     : sim::read_ranks(options.ranks, devices, "--ranks", problems);
  read_servers(options, devices, op, problems);
  if (!options.program.empty()) { read_program(options, op, problems); }
  q.sizes = op.op == CollectiveOp::barrier ? std::vector<Bytes>{Bytes{0}}
                                           : sim::read_sizes(options.sizes, "--sizes", problems);
  q.request.steps = options.fidelity == "steps" || op.program;
  q.algorithms = options.compare.empty() ? std::vector{options.algorithm} : options.compare;
  for (const std::string& name : q.algorithms) {
    check_algorithm(name, op.op, options.compare.empty() ? "--algorithm" : "--compare", problems);
  }
  for (const std::string& text : options.with) {
    if (auto beside = read_beside(text, devices, problems)) {
      q.request.beside.push_back(*std::move(beside));
    }
  }
  if (!problems.empty()) { throw sim::InputErrors(options.cluster, problems.errors()); }
  return q;
}

/// All sizes with one algorithm; what keeps it from running is the input's fault.
NetSeries run_series(const std::string& algorithm, Question& q, cost::Router& router,
                     const NetOptions& options) {
  NetSeries series{algorithm, {}};
  q.request.op.algorithm = algorithm;
  try {
    for (const Bytes size : q.sizes) { series.rows.push_back(net_row(q.request, size, router)); }
  } catch (const std::invalid_argument& refusal) {
    throw sim::InputErrors(options.cluster, {{"--algorithm", refusal.what()}});
  } catch (const cost::Unreachable& pair) {
    throw sim::InputErrors(options.cluster, {{"", "no path from " + pair.from + " to " + pair.to,
                                              "devices that are joined"}});
  }
  return series;
}

}  // namespace

int net_command(const NetOptions& options, std::ostream& out, std::ostream& /*err*/) {
  const cost::Cluster cluster = sim::read_cluster(options.cluster);
  Question q = read_question(options, cluster);
  cost::Router router(cluster.topology);
  NetAnswer answer{&cluster, &q.request, options.op, {}, options.links};
  if (q.request.op.program) { answer.op = name_of(q.request.op.op); }
  for (const std::string& algorithm : q.algorithms) {
    answer.series.push_back(run_series(algorithm, q, router, options));
  }
  if (!options.plot.empty()) {
    write_file(options.plot, [&](std::ostream& file) { print_net_svg(answer, file); });
  }
  if (options.json) {
    print_net_json(answer, out);
  } else if (options.csv) {
    print_net_csv(answer, out);
  } else {
    print_net_text(answer, out);
  }
  return 0;
}

}  // namespace tsim::cli
