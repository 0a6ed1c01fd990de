#include "sim/report/rank_times.hpp"

#include <algorithm>
#include <utility>

namespace tsim::sim {
namespace {

using strategies::Task;
using strategies::TaskGraph;
using strategies::TaskKind;

struct Interval {
  double start = 0, end = 0;
};

/// Sorted, disjoint and without empty ones.
std::vector<Interval> united(std::vector<Interval> all) {
  std::sort(all.begin(), all.end(),
            [](const Interval& a, const Interval& b) { return a.start < b.start; });
  std::vector<Interval> result;
  for (const Interval& i : all) {
    if (i.end <= i.start) { continue; }
    if (!result.empty() && i.start <= result.back().end) {
      result.back().end = std::max(result.back().end, i.end);
    } else {
      result.push_back(i);
    }
  }
  return result;
}

double length(const std::vector<Interval>& intervals) {
  double sum = 0;
  for (const Interval& i : intervals) { sum += i.end - i.start; }
  return sum;
}

double overlap(const std::vector<Interval>& a, const std::vector<Interval>& b) {
  double sum = 0;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    sum += std::max(0.0, std::min(a[i].end, b[j].end) - std::max(a[i].start, b[j].start));
    (a[i].end < b[j].end ? i : j)++;
  }
  return sum;
}

}  // namespace

std::span<const std::uint32_t> members(const TaskGraph& graph, const Task& task) {
  if (task.kind == TaskKind::compute) { return {&task.place, 1}; }
  return graph.groups[task.place];
}

std::vector<RankTimes> rank_times(const TaskGraph& graph, const Timeline& timeline) {
  std::vector<std::vector<Interval>> compute(graph.ranks.size());
  std::vector<std::vector<Interval>> comm(graph.ranks.size());
  for (std::size_t t = 0; t < graph.tasks.size(); ++t) {
    const Task& task = graph.tasks[t];
    const bool on_device =
        task.kind == TaskKind::compute && task.stream != strategies::Stream::host;
    auto& lists = on_device ? compute : comm;
    for (const std::uint32_t rank : members(graph, task)) {
      lists[rank].push_back({timeline.start[t], timeline.end[t]});
    }
  }
  std::vector<RankTimes> result;
  for (std::size_t rank = 0; rank < graph.ranks.size(); ++rank) {
    const auto busy = united(std::exchange(compute[rank], {}));
    const auto talking = united(std::exchange(comm[rank], {}));
    RankTimes times;
    times.busy = Seconds{length(busy)};
    times.communication = Seconds{length(talking)};
    times.exposed = times.communication - Seconds{overlap(busy, talking)};
    times.idle = timeline.makespan - times.busy - times.exposed;
    constexpr double kRounding = 1e-12;  // of the makespan: what sums of many intervals leave over
    if (times.idle < kRounding * timeline.makespan) { times.idle = {}; }
    result.push_back(times);
  }
  return result;
}

}  // namespace tsim::sim
