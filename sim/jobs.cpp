#include "sim/jobs.hpp"

#include <algorithm>
#include <functional>

#include "cost/part.hpp"
#include "sim/simulate.hpp"
#include "sim/simulation.hpp"
#include "sim/steps/simulate_steps.hpp"
#include "strategies/merge_graphs.hpp"

namespace tsim::sim {
namespace {

/// The job's scenario on its part of the cluster, every rank apart.
Scenario placed(const Job& job, const cost::Cluster& cluster) {
  Scenario scenario = job.scenario;
  scenario.cluster = cluster;
  scenario.cluster.topology = part_of(cluster.topology, job.devices);
  scenario.fold = Fold::none;
  return scenario;
}

Seconds last_end(const Timeline& timeline, std::size_t first, std::size_t count) {
  const auto begin = timeline.end.begin() + static_cast<std::ptrdiff_t>(first);
  return {count == 0 ? 0.0 : *std::max_element(begin, begin + static_cast<std::ptrdiff_t>(count))};
}

std::vector<Meeting> meetings(const cost::Topology& topology, const std::vector<Simulation>& alone,
                              Seconds whole) {
  std::vector<Meeting> found;
  for (std::size_t c = 0; c < topology.channels.size(); ++c) {
    Meeting meeting{topology.channels[c].name, {}, 0};
    double sum = 0;
    for (const Simulation& job : alone) {
      meeting.bytes.push_back(job.timeline.channel_bytes[c]);
      sum += meeting.bytes.back();
    }
    const auto users = std::ranges::count_if(meeting.bytes, [](double b) { return b > 0; });
    if (users < 2) { continue; }
    meeting.utilisation = sum / topology.channels[c].bandwidth.value / whole.value;
    found.push_back(std::move(meeting));
  }
  std::ranges::stable_sort(found, std::greater{}, &Meeting::utilisation);
  return found;
}

}  // namespace

JobsReport run_jobs(const cost::Cluster& cluster, std::span<const Job> jobs) {
  std::vector<Simulation> alone;
  bool steps = false;
  for (const Job& job : jobs) {
    alone.push_back(run_scenario(placed(job, cluster)));
    steps = steps || job.scenario.strategy.fidelity == strategies::Fidelity::steps;
  }
  std::vector<strategies::PlacedGraph> graphs;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    graphs.push_back({&alone[j].graph, jobs[j].devices});
  }
  const strategies::TaskGraph all = merge_graphs(graphs);
  cost::Router router(cluster.topology);
  const Timeline timeline =
      steps ? simulate_steps(all, router) : simulate(all, cluster.topology.channels);
  JobsReport report;
  std::size_t first = 0;
  for (const Simulation& job : alone) {
    const std::size_t count = job.graph.tasks.size();
    report.jobs.push_back({job.timeline.makespan, last_end(timeline, first, count)});
    first += count;
  }
  report.meetings = meetings(cluster.topology, alone, timeline.makespan);
  return report;
}

}  // namespace tsim::sim
