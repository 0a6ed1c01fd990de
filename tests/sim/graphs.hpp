// Small task graphs for the tests of the engine.
#pragma once

#include <string>
#include <vector>

#include "strategies/task_graph.hpp"

namespace tsim::test {

using strategies::Comm;
using strategies::Flow;
using strategies::MemoryEffect;
using strategies::Phase;
using strategies::Stream;
using strategies::Task;
using strategies::TaskGraph;
using strategies::TaskGraphBuilder;
using strategies::TaskId;
using strategies::TaskKind;

/// Builds graphs a line at a time. Ranks are made as they are named.
struct Graph {
  TaskGraphBuilder builder;
  std::vector<cost::Channel> channels;

  std::uint32_t rank(std::uint32_t r) {
    while (builder.graph.ranks.size() <= r) {
      const auto next = static_cast<std::int32_t>(builder.graph.ranks.size());
      builder.graph.ranks.push_back(
          {.global = next, .device = next, .stage = next, .resident = {}});
    }
    return r;
  }

  cost::ChannelId channel(double bandwidth) {
    channels.push_back({"c", {bandwidth}, cost::LinkKind::nic});
    return static_cast<cost::ChannelId>(channels.size() - 1);
  }

  TaskId compute(std::uint32_t on, double seconds, const std::vector<TaskId>& after = {},
                 const MemoryEffect& effect = {}) {
    builder.graph.computes.push_back({"work", {seconds}, {}, {}});
    Task task;
    if (!effect.empty()) {
      task.effect = static_cast<std::uint32_t>(builder.graph.effects.size());
      builder.graph.effects.push_back(effect);
    }
    task.work = static_cast<std::uint32_t>(builder.graph.computes.size() - 1);
    task.place = rank(on);
    task.kind = TaskKind::compute;
    return add(task, after);
  }

  /// A communication of its own, between ranks of its own.
  TaskId comm(double latency, std::vector<Flow> flows, const std::vector<TaskId>& after = {}) {
    Comm comm;
    comm.label = "message";
    comm.stream = Stream::pp;
    comm.ranks = 2;
    comm.latency = {latency};
    comm.flows = std::move(flows);
    builder.graph.comms.push_back(comm);
    builder.graph.groups.push_back({rank(0), rank(1)});
    Task task;
    task.work = static_cast<std::uint32_t>(builder.graph.comms.size() - 1);
    task.place = static_cast<std::uint32_t>(builder.graph.groups.size() - 1);
    task.kind = TaskKind::comm;
    task.phase = Phase::transfer;
    task.stream = Stream::pp;
    return add(task, after);
  }

  TaskId add(const Task& task, const std::vector<TaskId>& after) {
    const TaskId id = builder.add(task);
    for (const TaskId before : after) { builder.edge(before, id); }
    return id;
  }

  TaskGraph finish() { return std::move(builder).finish(); }
};

}  // namespace tsim::test
