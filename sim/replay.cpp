#include "sim/replay.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

namespace tsim::sim {

using strategies::Compute;
using strategies::compute_duration;
using strategies::Stream;
using strategies::successors;
using strategies::Task;
using strategies::TaskGraph;
using strategies::TaskId;
using strategies::TaskKind;

namespace {

constexpr double kNegligible = 1e-12;  // of a computation
constexpr double kNever = std::numeric_limits<double>::quiet_NaN();

/// Streams of collectives and messages between devices, whose kernels take units from others'.
bool runs_kernels(Stream stream) {
  return stream == Stream::tp || stream == Stream::dp || stream == Stream::pp ||
         stream == Stream::cp || stream == Stream::ep;
}

/// What a rank's device and host are at.
struct RankState {
  double launched = 0;      // when its host has launched all that was asked of it so far
  int communications = 0;   // that run now
  double beside_since = 0;  // since when at least one does
  double beside = 0;        // how long one did before that
  double until(double now) const {
    return beside + (communications > 0 ? now - beside_since : 0.0);
  }
};

class Replay {
 public:
  Replay(const TaskGraph& graph, Network& network)
      : graph_(graph), network_(network), unmet_(graph.in_degree), ranks_(graph.ranks.size()) {
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
  void on_done(TaskId t) {
    const double now = network_.now().value;
    const Task& task = graph_.tasks[t];
    if (task.kind == TaskKind::comm) {
      leave(task, now);
    } else if (const double left = still_to_do(t, now); left > 0) {
      network_.start_wait(Seconds{left}, t);
      return;
    }
    end(t, now);
    release_successors(now);
  }

  /// A communication begins on its ranks: their hosts have issued it.
  void enter(const Task& task, double now) {
    if (!runs_kernels(task.stream)) { return; }
    for (const std::uint32_t member : graph_.groups[task.place]) {
      RankState& rank = ranks_[member];
      rank.launched += graph_.ranks[member].host_collective.value;
      if (rank.communications++ == 0) { rank.beside_since = now; }
    }
  }

  void leave(const Task& task, double now) {
    if (!runs_kernels(task.stream)) { return; }
    for (const std::uint32_t member : graph_.groups[task.place]) {
      RankState& rank = ranks_[member];
      if (--rank.communications == 0) { rank.beside += now - rank.beside_since; }
      if (task.stream == Stream::pp && graph_.ranks[member].host_awaits_messages) {
        rank.launched = std::max(rank.launched, now);
      }
    }
  }

  /// A computation ends when its kernels have run, which takes longer beside communication, and not
  /// before its host has launched the last of them.
  double time_of(TaskId t, double now) {
    const Task& task = graph_.tasks[t];
    const double on_device = compute_duration(graph_, task).value;
    if (task.stream != Stream::compute) { return on_device; }
    RankState& rank = ranks_[task.place];
    const Compute& compute = graph_.computes[task.work];
    if (compute.host_waits) { rank.launched = std::max(rank.launched, now); }
    rank.launched += compute.host.value;
    if (graph_.ranks[task.place].overlap_slowdown > 0) {
      running_[t] = {.began = now, .beside = rank.until(now), .launched = rank.launched};
    }
    return std::max(on_device, rank.launched - now);
  }

  /// What a computation lacks at the time it would have ended alone.
  double still_to_do(TaskId t, double now) {
    const auto found = running_.find(t);
    if (found == running_.end()) { return 0; }
    const Running& running = found->second;
    const Task& task = graph_.tasks[t];
    const double slowdown = graph_.ranks[task.place].overlap_slowdown;
    const double beside = ranks_[task.place].until(now) - running.beside;
    const double done = now - running.began - beside * slowdown / (1 + slowdown);
    const double whole = compute_duration(graph_, task).value;
    const double left = std::max(whole - done, running.launched - now);
    if (left > kNegligible * whole) { return left; }
    running_.erase(found);
    return 0;
  }

  void end(TaskId task, double now) {
    timeline_.end[task] = now;
    just_ended_.push_back(task);
  }

  void start(TaskId t, double now) {
    const Task& task = graph_.tasks[t];
    timeline_.start[t] = now;
    if (task.kind == TaskKind::comm) {
      enter(task, now);
      network_.start_comm(task.work, t);
      return;
    }
    const double time = time_of(t, now);
    if (time <= 0) {
      running_.erase(t);
      end(t, now);
    } else {
      network_.start_wait(Seconds{time}, t);
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

  /// A computation that may be slowed.
  struct Running {
    double began = 0;     // at
    double beside = 0;    // the rank's time beside communication until then
    double launched = 0;  // when its host has launched it
  };

  const TaskGraph& graph_;
  Network& network_;
  std::vector<std::uint32_t> unmet_;  // predecessors that have not ended, by task
  std::vector<RankState> ranks_;
  std::unordered_map<TaskId, Running> running_;
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
