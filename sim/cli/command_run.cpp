#include <ostream>

#include "sim/cli/commands.hpp"
#include "sim/cli/format.hpp"
#include "sim/cli/print_report.hpp"
#include "sim/cli/print_trace.hpp"
#include "sim/cli/setting_texts.hpp"
#include "sim/cli/write_file.hpp"
#include "sim/input/input_error.hpp"
#include "sim/input/read_scenario.hpp"
#include "sim/replay.hpp"

namespace tsim::cli {
namespace {

/// "the host of node 0 needs 1.2 TiB and has 1.0 TiB (parameters 35.0 GiB, ...)"
void explain_host_misfit(const sim::HostReport& h, std::ostream& err) {
  err << "tsim: the host of node " << h.node << " needs " << format(sim::total(h)) << " and has "
      << format(h.capacity) << " (parameters " << format(h.parameters) << ", gradients "
      << format(h.gradients) << ", optimizer " << format(h.optimizer) << ", activations "
      << format(h.activations) << ")\n";
}

/// "rank 0 needs 93.1 GiB, h100-sxm has 80.0 GiB (parameters 35.0 GiB, ...)"
void explain_misfit(const sim::Report& r, std::ostream& err) {
  const sim::KindReport& tightest = r.kinds[r.tightest];
  err << "tsim: rank " << tightest.rank << " (stage " << tightest.stage << ") needs "
      << format(r.needed) << ", " << r.device << " has " << format(r.capacity) << " (";
  const char* separator = "";
  for (int c = 0; c < strategies::kMemoryClasses; ++c) {
    const Bytes bytes = tightest.peak[static_cast<std::size_t>(c)];
    if (bytes.value == 0) { continue; }
    err << separator << strategies::name_of(static_cast<strategies::MemoryClass>(c)) << " "
        << format(bytes);
    separator = ", ";
  }
  if (r.allowance.value > 0) { err << separator << "set aside " << format(r.allowance); }
  err << ")";
  separator = "; hint: ";
  for (const std::string& hint : r.hints) {
    err << separator << hint;
    separator = ", ";
  }
  err << "\n";
}

void write_trace(const RunOptions& options, const sim::Simulation& simulation) {
  write_file(options.trace, [&](std::ostream& out) {
    print_trace(simulation.graph, simulation.timeline, options.trace_ranks, out);
  });
}

}  // namespace

namespace {

/// The simulation, or as wrong input that messages are sent where there is no way.
sim::Simulation simulated(const RunOptions& options, const sim::Scenario& scenario) {
  try {
    return sim::run_scenario(scenario);
  } catch (const cost::Unreachable& pair) {
    throw sim::InputErrors(
        options.scenario.string(),
        {{.path = "/cluster",
          .found = "no way from " + pair.from + " to " + pair.to + " that passes no other device",
          .expected = "one, since the strategy sends messages between them",
          .hint = "another order of ranks, or links between them"}});
  }
}

}  // namespace

int run_command(const RunOptions& options, std::ostream& out, std::ostream& err) {
  const sim::ScenarioFile file =
      sim::read_scenario_file(options.scenario, setting_texts(options.settings));
  std::vector<Answer> answers;
  const auto answer = [&](const std::string& name, const sim::Scenario& scenario) {
    const sim::Simulation simulation = simulated(options, scenario);
    if (answers.empty() && !options.trace.empty()) { write_trace(options, simulation); }
    answers.push_back(
        {name, &scenario, summarise(scenario, simulation), expert_rows(scenario, simulation)});
  };
  answer(file.variants.empty() ? file.base.name : "as described", file.base);
  for (const auto& variant : file.variants) { answer(variant.name, variant.scenario); }
  (options.json ? print_json : print_text)(answers, out);
  const sim::Report& first = answers.front().report;
  if (first.fits) { return 0; }
  if (!first.kinds[first.tightest].fits) { explain_misfit(first, err); }
  if (first.host && !first.host->fits) { explain_host_misfit(*first.host, err); }
  return kNoAnswer;
}

}  // namespace tsim::cli
