#include "sim/least_makespan.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tsim::sim {

using strategies::TaskGraph;

double least_makespan(const TaskGraph& graph, const CommLoads& loads,
                      std::span<const cost::Channel> channels) {
  std::vector<double> rank_busy(graph.ranks.size());
  std::vector<double> channel_busy(channels.size());
  double longest = 0;
  for (const strategies::Task& task : graph.tasks) {
    if (task.kind == strategies::TaskKind::compute) {
      rank_busy[task.place] += strategies::compute_duration(graph, task).value;
      continue;
    }
    const CommLoad& load = loads.comms[task.work];
    longest = std::max(longest, load.latency + load.alone);
    for (const SharedFlow& flow : load.flows) {
      for (const cost::ChannelId c : loads.paths[flow.path]) {
        const auto channel = static_cast<std::size_t>(c);
        channel_busy[channel] += flow.bytes / channels[channel].bandwidth.value;
      }
    }
  }
  for (const double busy : rank_busy) { longest = std::max(longest, busy); }
  for (const double busy : channel_busy) { longest = std::max(longest, busy); }
  return longest;
}

double largest_flow(const CommLoads& loads) {
  double largest = 0;
  for (const CommLoad& load : loads.comms) {
    for (const SharedFlow& flow : load.flows) { largest = std::max(largest, flow.bytes); }
  }
  return largest;
}

double scale_to(double low, double value) {
  return value > 0 ? std::exp2(std::ceil(std::log2(low / value))) : 1.0;
}

}  // namespace tsim::sim
