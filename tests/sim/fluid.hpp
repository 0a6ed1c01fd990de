// A second, slow simulator of graphs whose communications have one flow each: max-min shares by
// progressive filling, all rates found anew at every event. Shares no code with the engine.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "cost/topology.hpp"
#include "strategies/task_graph.hpp"

namespace tsim::test {

class Fluid {
 public:
  Fluid(const strategies::TaskGraph& graph, const std::vector<cost::Channel>& channels)
      : graph_(graph), channels_(channels) {}

  /// End of every task.
  std::vector<double> run() {
    const std::size_t n = graph_.tasks.size();
    std::vector<double> end(n, -1);
    auto unmet = graph_.in_degree;
    for (std::size_t t = 0; t < n; ++t) {
      if (unmet[t] == 0) { start(t); }
    }
    while (!running_.empty()) {
      advance();
      std::vector<Running> ended;
      const auto over = [](const Running& r) { return r.wait <= 0 && r.bytes <= 0; };
      std::copy_if(running_.begin(), running_.end(), std::back_inserter(ended), over);
      std::erase_if(running_, over);
      for (const Running& r : ended) {
        end[r.task] = now_;
        for (std::size_t e = graph_.first[r.task]; e < graph_.first[r.task + 1]; ++e) {
          if (--unmet[graph_.successor[e]] == 0) { start(graph_.successor[e]); }
        }
      }
    }
    return end;
  }

 private:
  struct Running {
    std::size_t task = 0;
    double wait = 0;   // seconds of computation or latency left; then
    double bytes = 0;  // of the flow are left
    double rate = 0;
    const strategies::Flow* flow = nullptr;
  };

  void start(std::size_t t) {
    const auto& task = graph_.tasks[t];
    if (task.kind == strategies::TaskKind::compute) {
      running_.push_back({t, graph_.computes[task.work].duration.value, 0, 0, nullptr});
    } else {
      const auto& comm = graph_.comms[task.work];
      running_.push_back({t, comm.latency.value, comm.flows[0].bytes, 0, &comm.flows[0]});
    }
  }

  /// Raises all rates together; those on the channel that fills first stay as they are.
  void share() {
    std::vector<double> left;
    for (const auto& channel : channels_) { left.push_back(channel.bandwidth.value); }
    std::vector<Running*> rising;
    for (Running& r : running_) {
      if (r.flow != nullptr && r.wait <= 0) {
        r.rate = 0;
        rising.push_back(&r);
      }
    }
    while (!rising.empty()) {
      std::vector<int> users(channels_.size());
      for (const Running* r : rising) {
        for (const auto c : r->flow->channels) { ++users[static_cast<std::size_t>(c)]; }
      }
      std::size_t tightest = 0;
      double step = std::numeric_limits<double>::infinity();
      for (std::size_t c = 0; c < left.size(); ++c) {
        if (users[c] > 0 && left[c] / users[c] < step) {
          step = left[c] / users[c];
          tightest = c;
        }
      }
      for (Running* r : rising) {
        r->rate += step;
        for (const auto c : r->flow->channels) { left[static_cast<std::size_t>(c)] -= step; }
      }
      std::erase_if(rising, [&](const Running* r) {
        return std::count(r->flow->channels.begin(), r->flow->channels.end(), tightest) > 0;
      });
    }
  }

  void advance() {
    share();
    double step = std::numeric_limits<double>::infinity();
    for (const Running& r : running_) {
      step = std::min(step, r.wait > 0 ? r.wait : r.bytes > 0 ? r.bytes / r.rate : 0.0);
    }
    now_ += step;
    // Rounding would leave a last 1e-16 of a flow, which ends now as well.
    const double nothing = 1e-13 * now_;
    for (Running& r : running_) {
      if (r.wait > 0) {
        r.wait = r.wait - step <= nothing ? 0 : r.wait - step;
      } else if (r.bytes > 0) {
        r.bytes -= r.rate * step;
        r.bytes = r.bytes <= nothing * r.rate ? 0 : r.bytes;
      }
    }
  }

  const strategies::TaskGraph& graph_;
  const std::vector<cost::Channel>& channels_;
  std::vector<Running> running_;
  double now_ = 0;
};

}  // namespace tsim::test
