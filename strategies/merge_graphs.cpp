#include "strategies/merge_graphs.hpp"

namespace tsim::strategies {
namespace {

std::uint32_t count(const auto& list) { return static_cast<std::uint32_t>(list.size()); }

int placed(const PlacedGraph& job, int device) {
  return job.devices[static_cast<std::size_t>(device)];
}

void add_tasks(const TaskGraph& g, TaskGraph& all) {
  const std::uint32_t computes = count(all.computes), comms = count(all.comms),
                      groups = count(all.groups), ranks = count(all.ranks),
                      effects = count(all.effects);
  for (Task task : g.tasks) {
    const bool comm = task.kind == TaskKind::comm;
    task.work += comm ? comms : computes;
    task.place += comm ? groups : ranks;
    if (task.effect != kNone) { task.effect += effects; }
    all.tasks.push_back(task);
  }
  for (std::vector<std::uint32_t> group : g.groups) {
    for (std::uint32_t& rank : group) { rank += ranks; }
    all.groups.push_back(std::move(group));
  }
}

void add_edges(const TaskGraph& g, TaskId first_task, TaskGraph& all) {
  const std::uint32_t edges = count(all.successor);
  for (std::size_t t = 0; t < g.tasks.size(); ++t) { all.first.push_back(edges + g.first[t + 1]); }
  for (const TaskId next : g.successor) { all.successor.push_back(first_task + next); }
  all.in_degree.insert(all.in_degree.end(), g.in_degree.begin(), g.in_degree.end());
}

}  // namespace

TaskGraph merge_graphs(std::span<const PlacedGraph> jobs) {
  TaskGraph all;
  all.first = {0};
  for (const PlacedGraph& job : jobs) {
    const TaskGraph& g = *job.graph;
    const TaskId first_task = count(all.tasks);
    add_tasks(g, all);
    add_edges(g, first_task, all);
    all.computes.insert(all.computes.end(), g.computes.begin(), g.computes.end());
    all.effects.insert(all.effects.end(), g.effects.begin(), g.effects.end());
    for (Comm comm : g.comms) {
      for (int& device : comm.devices) { device = placed(job, device); }
      all.comms.push_back(std::move(comm));
    }
    for (Rank rank : g.ranks) {
      rank.device = placed(job, rank.device);
      all.ranks.push_back(std::move(rank));
    }
  }
  return all;
}

}  // namespace tsim::strategies
