#include "sim/replay.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tsim::sim {

using strategies::compute_duration;
using strategies::successors;
using strategies::Task;
using strategies::TaskGraph;
using strategies::TaskId;
using strategies::TaskKind;

namespace {

constexpr double kNever = std::numeric_limits<double>::quiet_NaN();

class Replay {
 public:
  Replay(const TaskGraph& graph, Network& network)
      : graph_(graph), network_(network), unmet_(graph.in_degree) {
    timeline_.start.assign(graph.tasks.size(), kNever);
    timeline_.end.assign(graph.tasks.size(), kNever);
  }

  Timeline run() {
    network_.on_done([this](TaskId task) { on_done(task); });
    for (TaskId t = 0; t < graph_.tasks.size(); ++t) {
      if (graph_.in_degree[t] == 0) { start(t, 0.0); }
    }
    release_successors(0.0);
    network_.run();
    return std::move(timeline_);
  }

 private:
  void on_done(TaskId task) {
    const double now = network_.now().value;
    end(task, now);
    release_successors(now);
  }

  void end(TaskId task, double now) {
    timeline_.end[task] = now;
    just_ended_.push_back(task);
  }

  void start(TaskId t, double now) {
    const Task& task = graph_.tasks[t];
    timeline_.start[t] = now;
    if (task.kind == TaskKind::comm) {
      network_.start_comm(task.work, t);
      return;
    }
    const Seconds duration = compute_duration(graph_, task);
    if (duration.value == 0) {
      end(t, now);
    } else {
      network_.start_wait(duration, t);
    }
  }

  // A list and not a recursion: chains of tasks that take no time can be long.
  void release_successors(double now) {
    while (!just_ended_.empty()) {
      const TaskId ended = just_ended_.back();
      just_ended_.pop_back();
      for (const TaskId next : successors(graph_, ended)) {
        if (--unmet_[next] == 0) { start(next, now); }
      }
    }
  }

  const TaskGraph& graph_;
  Network& network_;
  std::vector<std::uint32_t> unmet_;  // predecessors that have not ended, by task
  std::vector<TaskId> just_ended_;
  Timeline timeline_;
};

std::vector<double> bytes_by_channel(const TaskGraph& graph) {
  std::vector<double> runs(graph.comms.size());
  for (const Task& task : graph.tasks) {
    if (task.kind == TaskKind::comm) { runs[task.work] += 1; }
  }
  std::vector<double> bytes;
  for (std::size_t i = 0; i < graph.comms.size(); ++i) {
    for (const strategies::Flow& flow : graph.comms[i].flows) {
      for (const cost::ChannelId c : flow.channels) {
        const auto channel = static_cast<std::size_t>(c);
        bytes.resize(std::max(bytes.size(), channel + 1));
        bytes[channel] += runs[i] * flow.bytes;
      }
    }
  }
  return bytes;
}

}  // namespace

Timeline run_tasks(const TaskGraph& graph, Network& network) {
  return Replay(graph, network).run();
}

void finish(const TaskGraph& graph, Timeline& timeline) {
  timeline.makespan = {};
  for (const double end : timeline.end) {
    if (std::isnan(end)) { throw explain_stuck(graph, timeline.end); }
    timeline.makespan = std::max(timeline.makespan, Seconds{end});
  }
  timeline.channel_bytes = bytes_by_channel(graph);
}

Timeline replay(const TaskGraph& graph, Network& network) {
  Timeline timeline = run_tasks(graph, network);
  finish(graph, timeline);
  return timeline;
}

}  // namespace tsim::sim
