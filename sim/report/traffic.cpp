#include "sim/report/traffic.hpp"

#include <map>

namespace tsim::sim {
namespace {

/// How often each communication runs on simulated ranks.
std::vector<std::int64_t> runs(const strategies::TaskGraph& graph) {
  std::vector<std::int64_t> count(graph.comms.size());
  for (const strategies::Task& task : graph.tasks) {
    if (task.kind == strategies::TaskKind::comm) { ++count[task.work]; }
  }
  return count;
}

void add_flow(const strategies::Flow& flow, double times, std::span<const cost::Channel> channels,
              TrafficRow& row) {
  std::array<bool, kLinkKinds> crosses{};
  for (const cost::ChannelId c : flow.channels) {
    crosses[static_cast<std::size_t>(channels[static_cast<std::size_t>(c)].kind)] = true;
  }
  row.sent += times * flow.bytes;
  for (std::size_t kind = 0; kind < crosses.size(); ++kind) {
    if (crosses[kind]) { row.crossing[kind] += times * flow.bytes; }
  }
}

}  // namespace

std::vector<TrafficRow> traffic(const strategies::TaskGraph& graph,
                                std::span<const cost::Channel> channels) {
  const std::vector<std::int64_t> count = runs(graph);
  std::map<strategies::Stream, TrafficRow> by_stream;
  for (std::size_t i = 0; i < graph.comms.size(); ++i) {
    const strategies::Comm& comm = graph.comms[i];
    if (count[i] == 0) { continue; }
    TrafficRow& row = by_stream[comm.stream];
    row.group = name_of(comm.stream);
    const double times = static_cast<double>(count[i]) * comm.copies;
    for (std::size_t f = 0; f < comm.own_flows; ++f) {
      add_flow(comm.flows[f], times, channels, row);
    }
  }
  std::vector<TrafficRow> rows;
  for (const auto& [stream, row] : by_stream) {
    if (row.sent > 0) { rows.push_back(row); }
  }
  return rows;
}

}  // namespace tsim::sim
