// Walks a timeline and says what is wrong with it. Shares no code with the replay.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "cost/topology.hpp"
#include "sim/timeline.hpp"
#include "strategies/task_graph.hpp"

namespace tsim::test {

/// Seconds that a communication needs with the wires to itself, latency included.
inline double least_duration(const strategies::Comm& comm,
                             const std::vector<cost::Channel>& channels) {
  double longest = 0;
  for (std::size_t c = 0; c < channels.size(); ++c) {
    double bytes = 0;
    for (const auto& flow : comm.flows) {
      bytes += flow.bytes *
               static_cast<double>(std::count(flow.channels.begin(), flow.channels.end(), c));
    }
    longest = std::max(longest, bytes / channels[c].bandwidth.value);
  }
  return comm.latency.value + longest;
}

/// Empty when the timeline is right.
inline std::string fault_in(const strategies::TaskGraph& graph, const sim::Timeline& timeline,
                            const std::vector<cost::Channel>& channels) {
  std::ostringstream fault;
  const std::size_t n = graph.tasks.size();
  std::vector<double> ready(n, 0.0);
  double latest = 0;
  for (std::size_t t = 0; t < n; ++t) {
    for (std::size_t e = graph.first[t]; e < graph.first[t + 1]; ++e) {
      ready[graph.successor[e]] = std::max(ready[graph.successor[e]], timeline.end[t]);
    }
    latest = std::max(latest, timeline.end[t]);
  }
  std::map<std::uint32_t, std::vector<std::pair<double, double>>> busy;
  for (std::size_t t = 0; t < n; ++t) {
    const auto& task = graph.tasks[t];
    const double start = timeline.start[t], took = timeline.end[t] - start;
    if (start != ready[t]) {
      fault << "task " << t << " starts at " << start << ", was ready at " << ready[t] << '\n';
    }
    const double slack = 1e-11 * std::max(latest, took);
    if (task.kind == strategies::TaskKind::compute) {
      if (std::abs(took - graph.computes[task.work].duration.value) > slack) {
        fault << "task " << t << " takes " << took << '\n';
      }
      busy[task.place].emplace_back(start, timeline.end[t]);
    } else if (took < least_duration(graph.comms[task.work], channels) - slack) {
      fault << "communication " << t << " is faster than its wires: " << took << '\n';
    }
  }
  for (auto& [rank, spans] : busy) {
    std::sort(spans.begin(), spans.end());
    for (std::size_t i = 1; i < spans.size(); ++i) {
      if (spans[i].first < spans[i - 1].second) {
        fault << "rank " << rank << " computes twice at " << spans[i].first << '\n';
      }
    }
  }
  if (timeline.makespan.value != latest) {
    fault << "makespan " << timeline.makespan.value << ", last end " << latest << '\n';
  }
  return fault.str();
}

}  // namespace tsim::test
