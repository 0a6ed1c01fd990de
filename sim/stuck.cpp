#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <sstream>

#include "sim/replay.hpp"

namespace tsim::sim {

using strategies::kNoTask;
using strategies::Task;
using strategies::TaskGraph;
using strategies::TaskId;
using strategies::TaskKind;

namespace {

constexpr std::size_t kRanksShown = 8;

std::span<const std::uint32_t> ranks_of(const TaskGraph& graph, const Task& task) {
  if (task.kind == TaskKind::compute) { return {&task.place, 1}; }
  return task.place < graph.groups.size() ? graph.groups[task.place]
                                          : std::span<const std::uint32_t>{};
}

bool same_rank_compute(const Task& a, const Task& b) {
  return a.kind == TaskKind::compute && b.kind == TaskKind::compute && a.place == b.place;
}

/// What keeps each unfinished task: its first unfinished predecessor, and whether one of them is a
/// computation of its own rank, which then is nearer to the cause.
struct Blocker {
  TaskId first = kNoTask;
  bool own_rank = false;
};

std::vector<Blocker> find_blockers(const TaskGraph& graph, std::span<const double> end) {
  std::vector<Blocker> blockers(graph.tasks.size());
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    if (!std::isnan(end[t])) { continue; }
    for (const TaskId next : strategies::successors(graph, t)) {
      Blocker& blocker = blockers[next];
      blocker.first = std::min(blocker.first, t);
      blocker.own_rank = blocker.own_rank || same_rank_compute(graph.tasks[t], graph.tasks[next]);
    }
  }
  return blockers;
}

/// Lower is nearer to the cause and easier to understand: a computation at the front of its rank,
/// then a communication, then any other computation.
int distance(const Task& task, const Blocker& blocker) {
  if (task.kind == TaskKind::compute) { return blocker.own_rank ? 2 : 0; }
  return 1;
}

std::string message_of(const TaskGraph& graph, const std::vector<Stuck::Wait>& waits,
                       std::size_t unfinished) {
  std::ostringstream text;
  text << "the schedule is stuck: " << unfinished << " of " << graph.tasks.size()
       << " tasks never start";
  for (std::size_t i = 0; i < std::min(waits.size(), kRanksShown); ++i) {
    text << "\n  rank " << graph.ranks[static_cast<std::size_t>(waits[i].rank)].global << ": "
         << describe(graph, waits[i].task) << " waits for " << describe(graph, waits[i].waits_for);
  }
  if (waits.size() > kRanksShown) {
    text << "\n  and " << waits.size() - kRanksShown << " more ranks";
  }
  return text.str();
}

}  // namespace

std::string describe(const TaskGraph& graph, TaskId id) {
  const Task& task = graph.tasks[id];
  std::ostringstream text;
  if (task.kind == TaskKind::compute) {
    text << name_of(task.phase) << " of " << graph.computes[task.work].label;
  } else {
    text << graph.comms[task.work].label << " (" << name_of(task.phase) << ")";
  }
  if (task.micro_batch >= 0) { text << ", micro-batch " << task.micro_batch; }
  const auto ranks = ranks_of(graph, task);
  if (!ranks.empty()) {
    text << ", stage " << graph.ranks[ranks.front()].stage;
    if (task.chunk > 0) { text << ", chunk " << task.chunk; }
    text << (ranks.size() == 1 ? ", rank " : ", ranks ") << graph.ranks[ranks.front()].global;
    if (ranks.size() > 1) {
      text << (ranks.size() == 2 ? " and " : " to ") << graph.ranks[ranks.back()].global;
    }
  }
  return text.str();
}

Stuck explain_stuck(const TaskGraph& graph, std::span<const double> end) {
  const auto blockers = find_blockers(graph, end);
  std::map<std::uint32_t, TaskId> front;  // by rank
  std::size_t unfinished = 0;
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    if (!std::isnan(end[t])) { continue; }
    ++unfinished;
    for (const std::uint32_t rank : ranks_of(graph, graph.tasks[t])) {
      const auto [it, fresh] = front.try_emplace(rank, t);
      if (!fresh && distance(graph.tasks[t], blockers[t]) <
                        distance(graph.tasks[it->second], blockers[it->second])) {
        it->second = t;
      }
    }
  }
  std::vector<Stuck::Wait> waits;
  waits.reserve(front.size());
  for (const auto& [rank, task] : front) {
    waits.push_back({static_cast<std::int32_t>(rank), task, blockers[task].first});
  }
  const std::string message = message_of(graph, waits, unfinished);
  return {std::move(waits), message};
}

}  // namespace tsim::sim
