#include "sim/validate/breakdown.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "sim/report/rank_times.hpp"

namespace tsim::validate {
namespace {

using strategies::Stream;
using strategies::Task;
using strategies::TaskGraph;

struct Interval {
  double start = 0, end = 0;
  Part part{};
};

Part part_of(Stream stream) {
  switch (stream) {
    case Stream::tp: return Part::tensor;
    case Stream::dp: return Part::data;
    case Stream::pp: return Part::pipeline;
    case Stream::cp: return Part::context;
    default: return Part::other;
  }
}

/// What a rank does, by time. Computing comes first, so that what runs beside it is hidden.
class RankSpans {
 public:
  void compute(double start, double end) { computing_.push_back({start, end}); }
  void communicate(double start, double end, Part part) { talking_.push_back({start, end, part}); }

  /// Adds the exposed time of each part, in seconds.
  void add_exposed(Parts& parts) {
    const auto earlier = [](const Interval& a, const Interval& b) { return a.start < b.start; };
    std::sort(computing_.begin(), computing_.end(), earlier);
    std::sort(talking_.begin(), talking_.end(), earlier);
    double done = 0;  // everything before it has been counted
    std::size_t next = 0;
    for (const Interval& talk : talking_) {
      const double from = std::max(talk.start, done);
      if (talk.end <= from) { continue; }
      parts[static_cast<std::size_t>(talk.part)] +=
          talk.end - from - computed_between(from, talk.end, next);
      done = talk.end;
    }
  }

 private:
  /// Computing time within [from, to]; `next`: the first span that may still matter.
  double computed_between(double from, double to, std::size_t& next) const {
    while (next < computing_.size() && computing_[next].end <= from) { ++next; }
    double sum = 0;
    for (std::size_t i = next; i < computing_.size() && computing_[i].start < to; ++i) {
      sum += std::max(0.0, std::min(to, computing_[i].end) - std::max(from, computing_[i].start));
    }
    return sum;
  }

  std::vector<Interval> computing_, talking_;
};

/// Exposed communication by group, mean over ranks, in seconds.
Parts exposed(const TaskGraph& graph, const sim::Timeline& timeline) {
  std::vector<RankSpans> ranks(graph.ranks.size());
  for (std::size_t t = 0; t < graph.tasks.size(); ++t) {
    const Task& task = graph.tasks[t];
    const bool computes = task.kind == strategies::TaskKind::compute && task.stream != Stream::host;
    for (const std::uint32_t rank : sim::members(graph, task)) {
      if (computes) {
        ranks[rank].compute(timeline.start[t], timeline.end[t]);
      } else {
        ranks[rank].communicate(timeline.start[t], timeline.end[t], part_of(task.stream));
      }
    }
  }
  Parts parts{};
  for (RankSpans& rank : ranks) { rank.add_exposed(parts); }
  for (double& part : parts) { part /= static_cast<double>(ranks.size()); }
  return parts;
}

bool is_product(const sim::Lookup& one) {
  if (!one.subject) { return false; }
  const cost::PointKind kind = one.subject->series.kind;
  return kind == cost::PointKind::gemm || kind == cost::PointKind::bmm ||
         kind == cost::PointKind::grouped || kind == cost::PointKind::attention;
}

/// Kernel times of one rank of every stage together, in seconds.
Parts kernels(const sim::Scenario& scenario, const sim::Simulation& simulation) {
  Parts parts{};
  const auto list =
      sim::lookups(scenario, simulation.model, scenario.cluster.devices.front(), simulation.stages);
  for (const sim::Lookup& one : list) {
    const Part part = is_product(one)             ? Part::products
                      : one.kernel == "optimizer" ? Part::optimizer
                                                  : Part::memory_bound;
    parts[static_cast<std::size_t>(part)] += one.time.value;
  }
  return parts;
}

}  // namespace

Parts breakdown(const sim::Scenario& scenario, const sim::Simulation& simulation,
                const sim::Report& report) {
  const double step = report.step.value;
  if (!(step > 0)) { return {}; }
  Parts parts = exposed(simulation.graph, simulation.timeline);
  const Parts work = kernels(scenario, simulation);
  const double stages = static_cast<double>(std::max<std::size_t>(simulation.stages.size(), 1));
  const double all = std::accumulate(work.begin(), work.end(), 0.0) / stages;
  const double busy = report.busy_fraction * step;
  // Kernels that recomputation of some layers repeats are not in the list: then it is scaled up.
  const double scale = all > busy && all > 0 ? busy / all : 1.0;
  for (std::size_t i = 0; i < kParts; ++i) { parts[i] += work[i] / stages * scale; }
  // Of the attention that context ranks compute part by part the list has one part.
  const Part rest = scenario.strategy.context > 1 ? Part::products : Part::host;
  parts[static_cast<std::size_t>(rest)] += std::max(0.0, busy - all * scale);
  parts[static_cast<std::size_t>(Part::bubble)] = report.bubble_fraction * step;
  for (double& part : parts) { part /= step; }
  return parts;
}

}  // namespace tsim::validate
