#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "sim/critical_path.hpp"
#include "sim/memory_trace.hpp"
#include "sim/report/host_memory.hpp"
#include "sim/report/memory_verdict.hpp"
#include "sim/report/rank_times.hpp"
#include "sim/report/report.hpp"
#include "sim/report/traffic.hpp"
#include "strategies/memory.hpp"

namespace tsim::sim {
namespace {

using strategies::StagePlan;
using strategies::Task;
using strategies::TaskGraph;
using strategies::TaskKind;

std::size_t index(int i) { return static_cast<std::size_t>(i); }

std::string contents(const StagePlan& plan) {
  if (plan.chunks.empty()) { return "parameter servers"; }
  std::string text;
  const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  for (const strategies::ChunkPlan& chunk : plan.chunks) {
    if (chunk.embedding) { add("embedding"); }
    if (chunk.layers > 0) {
      const std::string first = std::to_string(chunk.first_layer);
      add(chunk.layers == 1
              ? "layer " + first
              : "layers " + first + "-" + std::to_string(chunk.first_layer + chunk.layers - 1));
    }
    if (chunk.head) { add("head"); }
  }
  return text;
}

/// Most forwards of a chunk that wait for the end of their backward, weight gradients included, on
/// a rank at once; none in a run without backwards.
int most_in_flight(const std::vector<strategies::TaskId>& tasks, const TaskGraph& graph) {
  std::map<std::pair<int, int>, bool> held;  // micro-batch and chunk
  std::size_t most = 0;
  bool has_backward = false;
  for (const strategies::TaskId id : tasks) {
    const Task& task = graph.tasks[id];
    if (task.micro_batch < 0) { continue; }
    const std::pair<int, int> key{task.micro_batch, task.chunk};
    if (task.phase == strategies::Phase::forward) {
      held[key] = true;
      most = std::max(most, held.size());
    } else if (task.phase == strategies::Phase::backward ||
               task.phase == strategies::Phase::weight_grad) {
      has_backward = true;
      held.erase(key);
    }
  }
  return has_backward ? static_cast<int>(most) : 0;
}

/// Compute tasks of every simulated rank in the order in which they were added, which is theirs.
std::vector<std::vector<strategies::TaskId>> compute_tasks(const TaskGraph& graph) {
  std::vector<std::vector<strategies::TaskId>> by_rank(graph.ranks.size());
  for (std::size_t t = 0; t < graph.tasks.size(); ++t) {
    if (graph.tasks[t].kind == TaskKind::compute) {
      by_rank[graph.tasks[t].place].push_back(static_cast<strategies::TaskId>(t));
    }
  }
  return by_rank;
}

void add_stages(const Simulation& s, const std::vector<RankTimes>& times,
                const std::vector<MemoryPeak>& peaks, Report& report) {
  const auto tasks = compute_tasks(s.graph);
  report.stages.resize(s.stages.size());
  std::vector<double> last_end(s.stages.size(), -1);
  for (std::size_t rank = 0; rank < s.graph.ranks.size(); ++rank) {
    const auto stage = index(s.graph.ranks[rank].stage);
    StageReport& row = report.stages[stage];
    const StagePlan& plan = s.stages[stage];
    const bool first = last_end[stage] < 0;
    if (first || total(peaks[rank].at_peak) > total(row.peak)) {
      row.peak = peaks[rank].at_peak;
      row.first_rank = s.graph.ranks[rank].global;
    }
    const double end = tasks[rank].empty() ? 0 : s.timeline.end[tasks[rank].back()];
    if (end > last_end[stage]) {
      last_end[stage] = end;
      row.times = times[rank];
    }
    if (!first) { continue; }
    row.stage = s.graph.ranks[rank].stage;
    row.contents = contents(plan);
    row.parameters = plan.elements + plan.frozen.elements + plan.frozen.embedding;
    row.trained = plan.elements;
    for (const auto& chunk : plan.chunks) {
      row.layers += chunk.layers;
      row.fully += chunk.fully;
      row.selectively += chunk.selectively;
    }
    row.in_flight = most_in_flight(tasks[rank], s.graph);
  }
}

void add_fractions(const Simulation& s, const std::vector<RankTimes>& times, Report& report) {
  double copies = 0;
  for (std::size_t rank = 0; rank < times.size(); ++rank) {
    const double weight = s.graph.ranks[rank].copies;
    copies += weight;
    report.busy_fraction += weight * times[rank].busy.value;
    report.exposed_fraction += weight * times[rank].exposed.value;
    report.bubble_fraction += weight * times[rank].idle.value;
  }
  const double whole = copies * s.timeline.makespan.value;
  if (whole <= 0) { return; }
  report.busy_fraction /= whole;
  report.exposed_fraction /= whole;
  report.bubble_fraction /= whole;
}

/// FLOPs of the whole cluster: every simulated rank counts for its copies.
void add_flops(const Simulation& s, Report& report) {
  for (const Task& task : s.graph.tasks) {
    if (task.kind != TaskKind::compute) { continue; }
    const double copies = s.graph.ranks[task.place].copies;
    report.model_flops += copies * s.graph.computes[task.work].model_flops;
    report.hardware_flops += copies * s.graph.computes[task.work].hardware_flops;
  }
}

/// Sum of the devices' peaks for the compute format; none when one of them states none.
std::optional<FlopsPerSecond> peak_of_all(const Scenario& scenario) {
  const models::DType compute = scenario.strategy.precision.compute;
  FlopsPerSecond sum{};
  const auto& kinds = scenario.cluster.topology.device_kind;
  for (std::size_t kind = 0; kind < scenario.cluster.devices.size(); ++kind) {
    const cost::Device& device = scenario.cluster.devices[kind];
    const auto devices = std::ranges::count(kinds, static_cast<std::int32_t>(kind));
    std::optional<FlopsPerSecond> rate = peak(device, compute);
    // Without matrix units for fp32, its products run on the vector units.
    if (!rate && compute == models::DType::fp32) { rate = device.vector_peak; }
    if (!rate && devices > 0) { return std::nullopt; }
    if (rate) { sum += static_cast<double>(devices) * *rate; }
  }
  return sum;
}

void add_rates(const Scenario& scenario, const Simulation& s, Report& report) {
  const double step = report.step.value;
  const auto samples = static_cast<double>(scenario.workload.global_batch);
  report.samples_per_second = samples / step;
  if (s.async) {
    report.samples_per_second = s.async->iterations_per_second * samples / scenario.strategy.data;
  }
  report.tokens_per_second =
      report.samples_per_second * static_cast<double>(tokens_per_sample(s.model));
  const double devices = report.devices;
  report.model_tflops_per_device = report.model_flops.value / step / devices / 1e12;
  const std::optional<FlopsPerSecond> rate = peak_of_all(scenario);
  report.has_peak = rate.has_value();
  if (!rate) { return; }
  report.mfu = report.model_flops.value / step / rate->value;
  report.hfu = report.hardware_flops.value / step / rate->value;
}

void add_channels(const Scenario& scenario, const Simulation& s, Report& report) {
  const auto& channels = scenario.cluster.topology.channels;
  std::vector<ChannelLoad> loads;
  for (std::size_t c = 0; c < s.timeline.channel_bytes.size(); ++c) {
    const double bytes = s.timeline.channel_bytes[c];
    if (bytes <= 0) { continue; }
    loads.push_back({channels[c].name, Bytes{std::llround(bytes)},
                     bytes / (channels[c].bandwidth.value * report.step.value)});
  }
  std::stable_sort(loads.begin(), loads.end(), [](const ChannelLoad& a, const ChannelLoad& b) {
    return a.utilisation > b.utilisation;
  });
  loads.resize(std::min<std::size_t>(loads.size(), 5));
  report.busiest = std::move(loads);
}

/// "tp all_reduce" of "tp all_reduce, stage 3".
std::string without_stage(const std::string& label) { return label.substr(0, label.find(',')); }

void add_communications(const Simulation& s, Report& report) {
  struct Sum {
    std::size_t row = 0;
    double seconds = 0;
  };
  std::map<std::tuple<std::string, std::string, int, Bytes>, Sum> rows;
  for (std::size_t t = 0; t < s.graph.tasks.size(); ++t) {
    const Task& task = s.graph.tasks[t];
    if (task.kind != TaskKind::comm) { continue; }
    const strategies::Comm& comm = s.graph.comms[task.work];
    const std::string what =
        task.phase == strategies::Phase::transfer ? "pipeline transfer" : without_stage(comm.label);
    const auto [at, added] =
        rows.try_emplace({what, comm.algorithm, comm.ranks, comm.payload}, Sum{});
    if (added) {
      at->second.row = report.communications.size();
      report.communications.push_back({what, comm.algorithm, comm.ranks, comm.payload, 0, {}});
    }
    report.communications[at->second.row].count += 1;
    at->second.seconds += s.timeline.end[t] - s.timeline.start[t];
  }
  for (const auto& [key, sum] : rows) {
    CommRow& row = report.communications[sum.row];
    row.each = Seconds{sum.seconds / static_cast<double>(row.count)};
  }
}

/// "backward", "forward (tp)".
std::string path_text(const PathShare& share) {
  std::string phase(strategies::name_of(share.phase));
  if (share.stream == strategies::Stream::host) { return phase + " on the host"; }
  if (share.kind == TaskKind::compute) { return phase; }
  return share.phase <= strategies::Phase::weight_grad
             ? std::string(strategies::name_of(share.stream)) + " communication, " + phase
             : phase;
}

void add_critical_path(const Simulation& s, Report& report) {
  for (const PathShare& share : critical_path(s.graph, s.timeline).shares) {
    report.critical_path.push_back({path_text(share), share.time});
  }
}

void add_parameter_bytes(const Scenario& scenario, const Simulation& s, Report& report) {
  if (!scenario.workload.training) { return; }
  report.adapters = scenario.model.lora.rank > 0;
  const StagePlan& heaviest = s.stages[report.heaviest_stage];
  const StagePlan& plan = heaviest.chunks.empty() ? s.stages.front() : heaviest;
  strategies::Strategy whole = scenario.strategy;
  whole.zero = {};
  const strategies::StateBytes states =
      state_bytes(plan.elements, whole, plan.whole, plan.shapes, plan.experts);
  const double each = 1.0 / static_cast<double>(std::max<std::int64_t>(1, plan.elements));
  report.parameter_bytes = ParameterBytes{.weights = each * to_double(states.parameters),
                                          .gradients = each * to_double(states.gradients),
                                          .optimizer = each * to_double(states.optimizer)};
}

std::string device_name(const cost::Topology& topology, int device) {
  return topology.vertices[index(topology.devices[index(device)])].name;
}

void add_straggler(const Scenario& scenario, const Simulation& s,
                   const std::vector<RankTimes>& times, Report& report) {
  const auto& ranks = s.graph.ranks;
  const auto added = [&](std::size_t r) {
    return times[r].busy.value * (1 - 1 / ranks[r].slowdown);
  };
  std::size_t worst = 0;
  for (std::size_t r = 1; r < ranks.size(); ++r) { worst = added(r) > added(worst) ? r : worst; }
  if (added(worst) <= 0) { return; }
  Straggler straggler{.rank = ranks[worst].global,
                      .device = device_name(scenario.cluster.topology, ranks[worst].device),
                      .slowdown = ranks[worst].slowdown,
                      .added = Seconds{added(worst)}};
  double others = 0;
  double idle = 0;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const double copies = ranks[r].copies - (r == worst ? 1 : 0);
    if (copies == 0) { continue; }
    others += copies;
    idle += copies * times[r].idle.value;
    straggler.most_idle = std::max(straggler.most_idle, times[r].idle);
  }
  straggler.others_idle = Seconds{idle / std::max(1.0, others)};
  report.straggler = std::move(straggler);
}

}  // namespace

Report summarise(const Scenario& scenario, const Simulation& simulation) {
  Report report;
  report.title = scenario.name;
  report.devices = device_count(scenario.cluster);
  report.step = simulation.timeline.makespan;
  report.tasks = simulation.graph.tasks.size();
  report.simulated_ranks = simulation.graph.ranks.size();
  if (simulation.closed_form.known) { report.closed_form = simulation.closed_form.step; }
  const std::vector<RankTimes> times = rank_times(simulation.graph, simulation.timeline);
  const std::vector<MemoryPeak> peaks = memory_peaks(simulation.graph, simulation.timeline);
  report.async = simulation.async;
  report.slice_tokens = simulation.slice_tokens;
  add_stages(simulation, times, peaks, report);
  add_fractions(simulation, times, report);
  add_flops(simulation, report);
  add_rates(scenario, simulation, report);
  add_straggler(scenario, simulation, times, report);
  add_channels(scenario, simulation, report);
  add_communications(simulation, report);
  report.traffic = traffic(simulation.graph, scenario.cluster.topology.channels);
  add_verdict(scenario, simulation.graph, peaks, report);
  add_host_memory(scenario, simulation, report);
  add_parameter_bytes(scenario, simulation, report);
  add_critical_path(simulation, report);
  const cost::Device& device = scenario.cluster.devices.front();
  if (device.measured) {
    report.lookups = lookups(scenario, simulation.model, device, simulation.stages);
  }
  return report;
}

}  // namespace tsim::sim
