#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <ostream>

#include "sim/cli/format.hpp"
#include "sim/cli/print_experts.hpp"
#include "sim/cli/print_report.hpp"
#include "sim/cli/text_table.hpp"

namespace tsim::cli {
namespace {

using sim::Report;
using sim::Scenario;
using sim::StageReport;
using strategies::MemoryClass;

std::string count(std::int64_t n, const std::string& what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

/// "full", or of some layers "full (block of 4 layers)"; operators by name.
std::string recompute_text(const strategies::Strategy& s) {
  using strategies::RecomputeMethod;
  std::string kind(name_of(s.recompute));
  for (const std::string& name : s.recompute_operators) { kind += " " + name; }
  std::string method(name_of(s.recompute_method));
  switch (s.recompute_method) {
    case RecomputeMethod::every: return kind;
    case RecomputeMethod::fit: return method;
    case RecomputeMethod::list:
      return kind + " (" + count(std::ssize(s.recompute_list), "layer") + ")";
    case RecomputeMethod::uniform:
    case RecomputeMethod::block:
      return kind + " (" + method + " of " + count(s.recompute_layers, "layer") + ")";
  }
  return kind;
}

/// "optimizer cpu, activations peer".
std::string offload_text(const strategies::Offload& o) {
  std::string text;
  const auto add = [&text](const char* what, std::string_view at) {
    if (at == "none") { return; }
    text += (text.empty() ? "" : ", ") + std::string(what) + " " + std::string(at);
  };
  add("optimizer", name_of(o.optimizer));
  add("parameters", name_of(o.parameters));
  add("activations", name_of(o.activations));
  return text;
}

std::string layout_text(const Scenario& s) {
  std::string text = "TP " + std::to_string(s.strategy.tensor) + " x PP " +
                     std::to_string(s.strategy.pipeline) + " x DP " +
                     std::to_string(s.strategy.data);
  if (s.strategy.context > 1) { text += " x CP " + std::to_string(s.strategy.context); }
  if (s.strategy.pipeline > 1) {
    text += ", " + (s.workload.training ? s.strategy.schedule : std::string("streamed"));
    if (s.strategy.chunks > 1) { text += " (" + count(s.strategy.chunks, "chunk") + " a stage)"; }
  }
  if (s.strategy.zero.stage > 0) { text += ", ZeRO " + std::to_string(s.strategy.zero.stage); }
  if (s.strategy.sequence_parallel) { text += ", sequence parallel"; }
  if (s.workload.training) { text += ", recompute " + recompute_text(s.strategy); }
  return text;
}

/// What low-rank adapters leave to be trained.
std::string adapters_text(const models::ModelConfig& m) {
  if (m.lora.rank == 0) { return ""; }
  return ", " + with_separators(models::trained_parameters(m)) + " trained (adapters of rank " +
         std::to_string(m.lora.rank) + ")";
}

/// Tokens of the slices that samples are cut into.
std::string slices_text(const Report& r) {
  if (r.slice_tokens.empty()) { return ""; }
  std::string text = "  slices    ";
  for (const std::int64_t tokens : r.slice_tokens) { text += " " + std::to_string(tokens); }
  return text + " tokens\n";
}

/// Where stages sit that are not where they are numbered.
std::string places_text(const Scenario& s) {
  const std::vector<int>& places = s.strategy.stage_places;
  if (std::ranges::is_sorted(places)) { return ""; }
  std::string text = "  places    ";
  for (const int place : places) { text += " " + std::to_string(place); }
  return text + " (of the stages, along the cluster)\n";
}

/// "8 x a100", or of several kinds "8 x v100 + 8 x a100".
std::string devices_text(const Report& r) {
  std::string text;
  for (const sim::KindReport& kind : r.kinds) {
    text += (text.empty() ? "" : " + ") + std::to_string(kind.devices) + " x " + kind.device;
  }
  return text;
}

void print_head(const Answer& a, std::ostream& out) {
  const Scenario& s = *a.scenario;
  const Report& r = a.report;
  out << r.title << "\n";
  if (!s.description.empty()) { out << s.description << "\n"; }
  out << "\n"
      << "  model      " << s.model.name << ", " << with_separators(models::parameters(s.model))
      << " parameters" << adapters_text(s.model) << "\n"
      << "  devices    " << devices_text(r) << ", " << count(s.cluster.nodes, "node") << "\n"
      << "  layout     " << layout_text(s) << "\n"
      << (offload_text(s.strategy.offload).empty()
              ? ""
              : "  offload    " + offload_text(s.strategy.offload) + "\n")
      << places_text(s) << slices_text(r) << "  batch      " << s.workload.global_batch
      << " samples, " << micro_batches(s)
      << (micro_batches(s) == 1 ? " micro-batch" : " micro-batches") << " of "
      << s.workload.micro_batch << " a pipeline, " << name_of(s.strategy.precision.compute) << "\n";
  for (const std::string& text : s.assumptions) { out << "  assumed    " << text << "\n"; }
  for (const std::string& text : s.warnings) { out << "  warning    " << text << "\n"; }
}

void print_straggler(const Report& r, std::ostream& out) {
  if (!r.straggler) { return; }
  const sim::Straggler& s = *r.straggler;
  out << "  straggler             rank " << s.rank << " (" << s.device << ") computes "
      << significant(s.slowdown, 3) << " times as long, " << format(s.added)
      << " more; the others idle " << format(s.others_idle) << " in the mean, "
      << format(s.most_idle) << " at most\n";
}

/// "0: 12, 1: 40, 3: 8".
std::string histogram_text(const sim::Histogram& histogram) {
  std::string text;
  for (const auto& [value, n] : histogram) {
    text += (text.empty() ? "" : ", ") + std::to_string(value) + ": " + std::to_string(n);
  }
  return text;
}

void print_async(const Answer& a, std::ostream& out) {
  if (!a.report.async) { return; }
  const sim::AsyncReport& r = *a.report.async;
  const auto [slowest, fastest] = std::ranges::minmax(r.worker_rates);
  out << "  iterations            " << r.iterations << " of every worker, "
      << significant(r.iterations_per_second, 4) << "/s of all in the steady state ("
      << significant(slowest, 3) << "/s to " << significant(fastest, 3) << "/s a worker)\n"
      << "  staleness             " << significant(sim::mean(r.staleness), 3)
      << " in the mean (others' updates between pull and own update: iterations) "
      << histogram_text(r.staleness) << "\n"
      << "  clocks ahead          " << significant(sim::mean(r.ahead), 3)
      << " in the mean (of the slowest worker at the pull: iterations) " << histogram_text(r.ahead)
      << "\n";
}

void print_figures(const Answer& a, std::ostream& out) {
  const Report& r = a.report;
  out << "\n"
      << "  step time             " << format(r.step) << "\n"
      << "  throughput            " << significant(r.samples_per_second, 4) << " samples/s, "
      << significant(r.tokens_per_second, 4) << " tokens/s\n"
      << "  model FLOP/s          " << significant(r.model_tflops_per_device, 4)
      << " TFLOP/s per device\n";
  if (r.has_peak) {
    out << "  MFU, HFU              " << percent(r.mfu) << " (model FLOPs), " << percent(r.hfu)
        << " (executed, recomputation included)\n";
  }
  print_async(a, out);
  print_straggler(r, out);
  out << "  busy                  " << percent(r.busy_fraction) << " of the step, mean over ranks\n"
      << "  exposed communication " << percent(r.exposed_fraction) << "\n"
      << "  bubble fraction       " << percent(r.bubble_fraction)
      << " (idle / step time, waiting for other ranks)\n"
      << "  closed form           "
      << (r.closed_form ? format(*r.closed_form) + " (no contention, no uneven waiting)"
                        : "none for this schedule")
      << "\n";
}

void print_stages(const Report& r, std::ostream& out) {
  std::vector<Column> columns{{"stage", Align::right}, {"holds"}};
  for (const char* title : {"busy", "exposed", "idle", "in flight", "param", "grad", "optim",
                            "activ", "logits", "other", "peak"}) {
    columns.push_back({title, Align::right});
  }
  std::vector<std::vector<std::string>> rows;
  for (const StageReport& stage : r.stages) {
    const auto held = [&](MemoryClass c) { return stage.peak[static_cast<std::size_t>(c)]; };
    const Bytes other =
        held(MemoryClass::buffers) + held(MemoryClass::workspace) + held(MemoryClass::reserved);
    const auto memory = [&](Bytes b) { return format(b); };
    rows.push_back({std::to_string(stage.stage), stage.contents, format(stage.times.busy),
                    format(stage.times.exposed), format(stage.times.idle),
                    std::to_string(stage.in_flight), memory(held(MemoryClass::parameters)),
                    memory(held(MemoryClass::gradients)), memory(held(MemoryClass::optimizer)),
                    memory(held(MemoryClass::activations)), memory(held(MemoryClass::logits)),
                    memory(other), memory(sim::total(stage.peak))});
  }
  out << "\nStages (one rank of each; memory at its peak; other: buffers, workspace, reserved)\n";
  print_table(out, columns, rows);
}

/// Where layers differ in it.
void print_recompute(const Answer& a, std::ostream& out) {
  using strategies::RecomputeMethod;
  const RecomputeMethod method = a.scenario->strategy.recompute_method;
  if (method == RecomputeMethod::every || method == RecomputeMethod::uniform) { return; }
  std::vector<std::vector<std::string>> rows;
  for (const StageReport& stage : a.report.stages) {
    rows.push_back({std::to_string(stage.stage), std::to_string(stage.fully),
                    std::to_string(stage.selectively),
                    std::to_string(stage.layers - stage.fully - stage.selectively)});
  }
  out << "\nRecomputation (layers)\n";
  print_table(out,
              {{"stage", Align::right},
               {"full", Align::right},
               {"selective", Align::right},
               {"none", Align::right}},
              rows);
}

void print_host(const Report& r, std::ostream& out) {
  if (!r.host) { return; }
  const sim::HostReport& h = *r.host;
  out << "\nHost memory (the fullest node: " << h.node << ")\n";
  print_table(out,
              {{"parameters", Align::right},
               {"gradients", Align::right},
               {"optimizer", Align::right},
               {"activations", Align::right},
               {"total", Align::right},
               {"on drives", Align::right}},
              {{format(h.parameters), format(h.gradients), format(h.optimizer),
                format(h.activations), format(sim::total(h)), format(h.drives)}});
}

void print_parameter_bytes(const Report& r, std::ostream& out) {
  if (!r.parameter_bytes) { return; }
  const sim::ParameterBytes& p = *r.parameter_bytes;
  out << "  a " << (r.adapters ? "trained " : "") << "parameter takes "
      << significant(p.weights + p.gradients + p.optimizer, 4) << " B before sharding: weight "
      << significant(p.weights, 3) << ", gradient " << significant(p.gradients, 3) << ", optimizer "
      << significant(p.optimizer, 3) << "\n";
}

void print_communications(const Report& r, std::ostream& out) {
  if (r.communications.empty()) { return; }
  std::vector<std::vector<std::string>> rows;
  for (const sim::CommRow& c : r.communications) {
    rows.push_back({c.label, c.algorithm, std::to_string(c.ranks), format(c.payload),
                    std::to_string(c.count), format(c.each)});
  }
  out << "\nCommunication\n";
  print_table(out,
              {{"what"},
               {"algorithm"},
               {"ranks", Align::right},
               {"size", Align::right},
               {"count", Align::right},
               {"mean time", Align::right}},
              rows);
  rows.clear();
  for (const sim::ChannelLoad& c : r.busiest) {
    rows.push_back({c.name, format(c.moved), percent(c.utilisation)});
  }
  if (rows.empty()) { return; }
  out << "\nBusiest links\n";
  print_table(out, {{"link"}, {"moved", Align::right}, {"used", Align::right}}, rows);
}

/// Kinds of links as people name them, in the order of cost::LinkKind.
constexpr std::array<const char*, sim::kLinkKinds> kCrossed{
    "NVLink", "PCIe", "socket link", "host memory", "NIC", "between switches", "other"};

/// "1.20 GiB (25.0 %)".
std::string share_text(double bytes, double of) {
  return format(Bytes{std::llround(bytes)}) + " (" + percent(bytes / of) + ")";
}

void print_traffic(const Answer& a, std::ostream& out) {
  const std::vector<sim::TrafficRow>& traffic = a.report.traffic;
  if (traffic.empty()) { return; }
  std::vector<Column> columns{{"group"}, {"sent", Align::right}};
  std::vector<std::size_t> kinds;
  for (std::size_t kind = 0; kind < kCrossed.size(); ++kind) {
    const bool crossed = std::any_of(traffic.begin(), traffic.end(),
                                     [kind](const auto& row) { return row.crossing[kind] > 0; });
    if (!crossed) { continue; }
    kinds.push_back(kind);
    columns.push_back({kCrossed[kind], Align::right});
  }
  std::vector<std::vector<std::string>> rows;
  for (const sim::TrafficRow& row : traffic) {
    std::vector<std::string> cells{row.group, format(Bytes{std::llround(row.sent)})};
    for (const std::size_t kind : kinds) {
      cells.push_back(row.crossing[kind] > 0 ? share_text(row.crossing[kind], row.sent) : "-");
    }
    rows.push_back(std::move(cells));
  }
  out << "\nTraffic by kind of group and what it crosses (all ranks; rank order "
      << a.scenario->strategy.order << ", innermost first)\n";
  print_table(out, columns, rows);
}

void print_critical_path(const Report& r, std::ostream& out) {
  out << "\nCritical path\n";
  std::vector<std::vector<std::string>> rows;
  for (const sim::PathRow& share : r.critical_path) {
    rows.push_back({share.what, format(share.time), percent(share.time / r.step)});
  }
  print_table(out, {{"what"}, {"time", Align::right}, {"of step", Align::right}}, rows);
}

/// Where the kernels' times come from, and which of them were not measured.
void print_lookups(const Report& r, std::ostream& out) {
  if (r.lookups.empty()) { return; }
  const auto times = times_by_origin(r.lookups);
  const auto counts = counts_by_origin(r.lookups);
  const double sum = std::accumulate(times.begin(), times.end(), 0.0,
                                     [](double all, Seconds one) { return all + one.value; });
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < times.size(); ++i) {
    rows.push_back({std::string(name_of(static_cast<cost::Origin>(i))), std::to_string(counts[i]),
                    percent(sum > 0 ? times[i].value / sum : 0)});
  }
  out << "\nKernel times come from\n";
  print_table(out, {{"source"}, {"shapes", Align::right}, {"of their time", Align::right}}, rows);
  const std::vector<sim::Lookup> missed = heaviest_misses(r.lookups);
  if (missed.empty()) { return; }
  rows.clear();
  for (const sim::Lookup& miss : missed) {
    rows.push_back(
        {cost::line_of(*miss.subject), percent(sum > 0 ? miss.time.value / sum : 0), miss.kernel});
  }
  out << "Heaviest that were not measured (measure: tsim calibrate --for SCENARIO --list > work,\n"
         "tsim-measure --work work --out FILE)\n";
  print_table(out, {{"work"}, {"of the time", Align::right}, {"kernel"}}, rows);
}

void print_verdict(const Report& r, std::ostream& out) {
  out << "\n";
  for (const sim::KindReport& kind : r.kinds) {
    if (r.kinds.size() > 1) { out << kind.device << ": "; }
    out << (kind.fits ? "Fits" : "Does not fit") << ": rank " << kind.rank << " (stage "
        << kind.stage << ") needs " << format(kind.needed) << " of " << format(kind.capacity);
    if (kind.allowance.value > 0) { out << ", " << format(kind.allowance) << " of it set aside"; }
    out << "\n";
  }
}

void print_host_verdict(const Report& r, std::ostream& out) {
  if (!r.host || r.host->capacity.value == 0) { return; }
  out << (r.host->fits ? "Fits" : "Does not fit") << ": the host of node " << r.host->node
      << " needs " << format(sim::total(*r.host)) << " of " << format(r.host->capacity) << "\n";
}

void print_comparison(const std::vector<Answer>& answers, std::ostream& out) {
  std::vector<std::vector<std::string>> rows;
  for (const Answer& a : answers) {
    const Report& r = a.report;
    rows.push_back({a.name, format(r.step), significant(r.samples_per_second, 4),
                    r.has_peak ? percent(r.mfu) : "-", percent(r.exposed_fraction),
                    percent(r.bubble_fraction), format(r.needed), r.fits ? "yes" : "no"});
  }
  out << "\nComparison\n";
  print_table(out,
              {{"variant"},
               {"step time", Align::right},
               {"samples/s", Align::right},
               {"MFU", Align::right},
               {"exposed", Align::right},
               {"bubble", Align::right},
               {"peak memory", Align::right},
               {"fits", Align::right}},
              rows);
}

}  // namespace

void print_text(const std::vector<Answer>& answers, std::ostream& out) {
  const Answer& first = answers.front();
  print_head(first, out);
  print_figures(first, out);
  print_stages(first.report, out);
  print_recompute(first, out);
  print_host(first.report, out);
  print_parameter_bytes(first.report, out);
  print_experts(first, out);
  print_communications(first.report, out);
  print_traffic(first, out);
  print_critical_path(first.report, out);
  print_lookups(first.report, out);
  if (answers.size() > 1) { print_comparison(answers, out); }
  print_verdict(first.report, out);
  print_host_verdict(first.report, out);
}

}  // namespace tsim::cli
