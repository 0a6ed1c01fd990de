#include "sim/memory_trace.hpp"

#include <algorithm>
#include <numeric>
#include <span>

namespace tsim::sim {

using strategies::kNone;
using strategies::MemoryChange;
using strategies::Task;
using strategies::TaskGraph;
using strategies::TaskId;
using strategies::TaskKind;

namespace {

struct Change {
  double time;
  std::uint32_t effect;
  bool at_end;
};

/// Tasks with an effect on each rank, in order of their ids: rank r has [first[r], first[r + 1]).
struct TasksByRank {
  std::vector<std::uint32_t> first;
  std::vector<TaskId> tasks;
};

template <class Visit>
void for_each_rank(const TaskGraph& graph, const Task& task, Visit visit) {
  if (task.kind == TaskKind::compute) {
    visit(task.place);
  } else {
    std::for_each(graph.groups[task.place].begin(), graph.groups[task.place].end(), visit);
  }
}

TasksByRank tasks_by_rank(const TaskGraph& graph) {
  TasksByRank by_rank;
  by_rank.first.assign(graph.ranks.size() + 1, 0);
  for (const Task& task : graph.tasks) {
    if (task.effect != kNone) {
      for_each_rank(graph, task, [&](std::uint32_t rank) { ++by_rank.first[rank + 1]; });
    }
  }
  std::partial_sum(by_rank.first.begin(), by_rank.first.end(), by_rank.first.begin());
  by_rank.tasks.resize(by_rank.first.back());
  std::vector<std::uint32_t> next(by_rank.first.begin(), by_rank.first.end() - 1);
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    if (graph.tasks[t].effect != kNone) {
      for_each_rank(graph, graph.tasks[t],
                    [&](std::uint32_t rank) { by_rank.tasks[next[rank]++] = t; });
    }
  }
  return by_rank;
}

std::vector<Change> changes_of(const TaskGraph& graph, const Timeline& timeline,
                               std::span<const TaskId> tasks) {
  std::vector<Change> changes;
  changes.reserve(2 * tasks.size());
  for (const TaskId t : tasks) {
    changes.push_back({timeline.start[t], graph.tasks[t].effect, false});
    changes.push_back({timeline.end[t], graph.tasks[t].effect, true});
  }
  std::stable_sort(changes.begin(), changes.end(),
                   [](const Change& a, const Change& b) { return a.time < b.time; });
  return changes;
}

/// Calls `visit(time, held)` at time 0 and after each instant with changes. What an instant frees
/// and what it allocates are applied together: the sum in between is never above both ends, as
/// frees go first.
template <class Visit>
void walk(const TaskGraph& graph, std::uint32_t rank, const std::vector<Change>& changes,
          Visit visit) {
  MemoryByClass held{};
  for (const MemoryChange& resident : graph.ranks[rank].resident) {
    held[static_cast<std::size_t>(resident.cls)] += resident.at_start;
  }
  if (changes.empty() || changes.front().time > 0) { visit(0.0, held); }
  for (std::size_t i = 0; i < changes.size();) {
    const double time = changes[i].time;
    for (; i < changes.size() && changes[i].time == time; ++i) {
      for (const MemoryChange& c : graph.effects[changes[i].effect]) {
        held[static_cast<std::size_t>(c.cls)] += changes[i].at_end ? c.at_end : c.at_start;
      }
    }
    visit(time, held);
  }
}

}  // namespace

Bytes total(const MemoryByClass& memory) {
  return std::accumulate(memory.begin(), memory.end(), Bytes{});
}

std::vector<MemoryPoint> memory_trace(const TaskGraph& graph, const Timeline& timeline,
                                      std::uint32_t rank) {
  std::vector<TaskId> tasks;
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    if (graph.tasks[t].effect != kNone) {
      for_each_rank(graph, graph.tasks[t], [&](std::uint32_t r) {
        if (r == rank) { tasks.push_back(t); }
      });
    }
  }
  std::vector<MemoryPoint> points;
  walk(graph, rank, changes_of(graph, timeline, tasks),
       [&](double time, const MemoryByClass& held) {
         points.push_back({time, held});
       });
  return points;
}

std::vector<MemoryPeak> memory_peaks(const TaskGraph& graph, const Timeline& timeline) {
  const TasksByRank by_rank = tasks_by_rank(graph);
  std::vector<MemoryPeak> peaks;
  peaks.reserve(graph.ranks.size());
  for (std::uint32_t rank = 0; rank < graph.ranks.size(); ++rank) {
    const std::span<const TaskId> tasks{by_rank.tasks.data() + by_rank.first[rank],
                                        by_rank.tasks.data() + by_rank.first[rank + 1]};
    MemoryPeak& peak = peaks.emplace_back();
    bool first = true;
    walk(graph, rank, changes_of(graph, timeline, tasks),
         [&](double time, const MemoryByClass& held) {
           const Bytes sum = total(held);
           if (first || sum > peak.peak) {
             peak.peak = sum;
             peak.time = time;
             peak.at_peak = held;
           }
           peak.at_end = held;
           first = false;
         });
  }
  return peaks;
}

}  // namespace tsim::sim
