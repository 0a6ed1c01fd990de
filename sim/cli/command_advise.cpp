#include <ostream>

#include "sim/cli/commands.hpp"
#include "sim/cli/format.hpp"
#include "sim/sweep/advise.hpp"
#include "sim/sweep/spec_flags.hpp"

namespace tsim::cli {
namespace {

using nlohmann::ordered_json;

/// The scenario that is varied, but for its precision.
sim::Json scenario_of(const AdviseOptions& o) {
  sim::Json scenario;
  scenario["name"] = o.model + " on " + o.cluster;
  scenario["model"] = o.model;
  scenario["workload"] = {{"global_batch", o.global_batch}, {"micro_batch", 1}};
  if (o.sequence > 0) { scenario["workload"]["sequence"] = o.sequence; }
  scenario["cluster"] = {{"base", o.cluster}};
  if (o.nodes > 0) { scenario["cluster"]["nodes"] = o.nodes; }
  scenario["strategy"] = {{"flash_attention", true}};
  return scenario;
}

/// As --set changes it.
sim::SweepSpec spec_of(const AdviseOptions& o) {
  sim::Json scenario = scenario_of(o);
  scenario["precision"] = sim::usual_precision(scenario, "the flags");
  // More answers than are asked for: events may put them in another order.
  constexpr std::int64_t kSpare = 2;
  sim::Json document{{"scenario", scenario},
                     {"search", "best"},
                     {"top", kSpare * o.top},
                     {"apart", true},
                     {"events", kSpare * o.top}};
  return sim::read_usual_spec(std::move(document), o.settings);
}

void print_text(const std::vector<sim::Advice>& list, const sim::SweepReport& report,
                std::ostream& out) {
  out << "best of " << report.size << " strategies, " << report.counts.legal
      << " of them legal; step times by events\n";
  int place = 0;
  for (const sim::Advice& a : list) {
    out << "\n"
        << ++place << ". " << a.title << ": " << format(Seconds{a.judged.events.step})
        << " a step\n";
    for (const std::string& line : a.lines) { out << "   " << line << "\n"; }
    if (!a.settings.empty()) { out << "\n" << a.settings; }
    for (const std::string& what : a.unstated) { out << "not stated there: " << what << "\n"; }
  }
}

void print_json(const std::vector<sim::Advice>& list, std::ostream& out) {
  ordered_json document = ordered_json::array();
  for (const sim::Advice& a : list) {
    document.push_back({{"title", a.title},
                        {"step_s", a.judged.events.step},
                        {"memory_bytes", a.judged.events.memory},
                        {"bound", a.lines[0]},
                        {"memory", a.lines[1]},
                        {"next", a.lines[2]},
                        {"settings", a.settings},
                        {"not_stated", a.unstated}});
  }
  out << document.dump(2) << "\n";
}

}  // namespace

int advise_command(const AdviseOptions& o, std::ostream& out, std::ostream& err) {
  const sim::SweepSpec spec = spec_of(o);
  const sim::SweepReport report =
      run_sweep(spec, {.jobs = o.jobs, .database = {}, .version = TSIM_VERSION, .progress = {}});
  const auto list = advise(spec, report, static_cast<std::size_t>(o.top), o.as);
  if (list.empty()) {
    err << "tsim: none of " << report.size << " strategies fits; hint: more nodes\n";
    return kNoAnswer;
  }
  if (o.json) {
    print_json(list, out);
  } else {
    print_text(list, report, out);
  }
  return 0;
}

}  // namespace tsim::cli
