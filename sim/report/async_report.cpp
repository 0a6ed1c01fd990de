#include "sim/report/async_report.hpp"

#include <algorithm>

namespace tsim::sim {
namespace {

using Times = std::vector<std::vector<double>>;  // by worker and clock

Times times_of(const std::vector<std::vector<strategies::TaskId>>& tasks,
               const std::vector<double>& of_task) {
  Times times(tasks.size());
  for (std::size_t w = 0; w < tasks.size(); ++w) {
    times[w].reserve(tasks[w].size());
    for (const strategies::TaskId t : tasks[w]) { times[w].push_back(of_task[t]); }
  }
  return times;
}

/// Entries of a sorted list that are <= `time`.
std::int64_t until(const std::vector<double>& sorted, double time) {
  return std::upper_bound(sorted.begin(), sorted.end(), time) - sorted.begin();
}

/// Others' updates in (pull, own update); one of the same instant is no later than the own.
int missed(const Times& applied, std::size_t worker, double pull, double own) {
  std::int64_t count = 0;
  for (std::size_t v = 0; v < applied.size(); ++v) {
    if (v == worker) { continue; }
    const auto& times = applied[v];
    const auto before_own = std::lower_bound(times.begin(), times.end(), own) - times.begin();
    count += std::max<std::int64_t>(0, before_own - until(times, pull));
  }
  return static_cast<int>(count);
}

/// Clocks that the slowest worker has ended by `time`.
int slowest_clock(const Times& applied, double time) {
  std::int64_t least = until(applied.front(), time);
  for (const auto& times : applied) { least = std::min(least, until(times, time)); }
  return static_cast<int>(least);
}

double rate(const std::vector<double>& ends, double from, double to) {
  const auto first = std::lower_bound(ends.begin(), ends.end(), from);
  const auto last = std::upper_bound(ends.begin(), ends.end(), to);
  constexpr std::ptrdiff_t kEnough = 3;
  if (last - first < kEnough) { return static_cast<double>(ends.size()) / ends.back(); }
  return static_cast<double>(last - first - 1) / (*(last - 1) - *first);
}

}  // namespace

double mean(const Histogram& histogram) {
  double sum = 0;
  double count = 0;
  for (const auto& [value, n] : histogram) {
    sum += static_cast<double>(value) * static_cast<double>(n);
    count += static_cast<double>(n);
  }
  return count > 0 ? sum / count : 0.0;
}

AsyncReport async_report(const strategies::AsyncRun& run, const Timeline& timeline) {
  const Times pulls = times_of(run.pulled, timeline.start);
  const Times applied = times_of(run.applied, timeline.end);
  AsyncReport report;
  report.iterations = static_cast<int>(pulls.front().size());
  double first_done = applied.front().back();
  for (const auto& times : applied) { first_done = std::min(first_done, times.back()); }
  for (std::size_t w = 0; w < pulls.size(); ++w) {
    report.worker_rates.push_back(rate(applied[w], first_done / 2, first_done));
    report.iterations_per_second += report.worker_rates.back();
    for (std::size_t clock = 0; clock < pulls[w].size(); ++clock) {
      report.staleness[missed(applied, w, pulls[w][clock], applied[w][clock])] += 1;
      report.ahead[static_cast<int>(clock) - slowest_clock(applied, pulls[w][clock])] += 1;
    }
  }
  return report;
}

}  // namespace tsim::sim
