#include "sim/critical_path.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace tsim::sim {

using strategies::kNoTask;
using strategies::Task;
using strategies::TaskGraph;
using strategies::TaskId;

namespace {

/// By task: the predecessor that ended last, of several the lowest id; kNoTask without one.
std::vector<TaskId> last_predecessors(const TaskGraph& graph, const Timeline& timeline) {
  std::vector<TaskId> last(graph.tasks.size(), kNoTask);
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    for (const TaskId next : strategies::successors(graph, t)) {
      TaskId& best = last[next];
      if (best == kNoTask || timeline.end[t] > timeline.end[best]) { best = t; }
    }
  }
  return last;
}

std::vector<PathShare> shares_of(const TaskGraph& graph, const Timeline& timeline,
                                 const std::vector<TaskId>& tasks) {
  std::map<std::tuple<strategies::TaskKind, strategies::Stream, strategies::Phase>, double> sums;
  for (const TaskId t : tasks) {
    const Task& task = graph.tasks[t];
    sums[{task.kind, task.stream, task.phase}] += timeline.end[t] - timeline.start[t];
  }
  std::vector<PathShare> shares;
  shares.reserve(sums.size());
  for (const auto& [sort, seconds] : sums) {
    shares.push_back({std::get<0>(sort), std::get<1>(sort), std::get<2>(sort), {seconds}});
  }
  std::stable_sort(shares.begin(), shares.end(),
                   [](const PathShare& a, const PathShare& b) { return a.time > b.time; });
  return shares;
}

}  // namespace

CriticalPath critical_path(const TaskGraph& graph, const Timeline& timeline) {
  CriticalPath path;
  if (graph.tasks.empty()) { return path; }
  const auto last = last_predecessors(graph, timeline);
  const auto latest = std::max_element(timeline.end.begin(), timeline.end.end());
  for (auto t = static_cast<TaskId>(latest - timeline.end.begin()); t != kNoTask; t = last[t]) {
    path.tasks.push_back(t);
    path.gaps += Seconds{timeline.start[t] - (last[t] == kNoTask ? 0.0 : timeline.end[last[t]])};
  }
  std::reverse(path.tasks.begin(), path.tasks.end());
  path.shares = shares_of(graph, timeline, path.tasks);
  return path;
}

}  // namespace tsim::sim
