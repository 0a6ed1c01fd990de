// A 1F1B pipeline over real wires, for tests that need a graph of some size.
#pragma once

#include <algorithm>
#include <random>

#include "graphs.hpp"

namespace tsim::test {

struct PipelineShape {
  int stages = 4;
  int micro_batches = 8;
  double forward = 1, backward = 2;
  double latency = 0, bytes = 0;
  double bandwidth = 100;      // of each wire
  bool one_wire = false;       // all messages over one channel, else one a stage and direction
  double scale_rates = 1;      // all rates times this, all latencies over it
  bool reverse_ranks = false;  // rank p-1-s runs stage s
  double jitter = 0;           // computations last up to this share longer, differently each
};

/// Every stage on a rank of its own; messages wait for each other on their direction's queue.
inline Graph one_f_one_b(const PipelineShape& p) {
  Graph g;
  std::mt19937 random(7);
  g.rank(static_cast<std::uint32_t>(p.stages - 1));
  const auto size = static_cast<std::size_t>(p.stages * p.micro_batches);
  std::vector<TaskId> forward(size), backward(size);
  const auto at = [&](int s, int m) { return static_cast<std::size_t>(s * p.micro_batches + m); };
  for (int s = 0; s < p.stages; ++s) {
    const auto rank = static_cast<std::uint32_t>(p.reverse_ranks ? p.stages - 1 - s : s);
    TaskId before = strategies::kNoTask;
    const auto add = [&](double seconds, std::vector<TaskId>& into, int m) {
      std::uniform_real_distribution<double> longer(1.0, 1.0 + p.jitter);
      const TaskId t = g.compute(rank, seconds * longer(random) / p.scale_rates);
      g.builder.edge(before, t);
      before = into[at(s, m)] = t;
    };
    const int warmup = std::min(p.stages - 1 - s, p.micro_batches);
    for (int i = 0; i < p.micro_batches + warmup; ++i) {
      if (i < p.micro_batches) { add(p.forward, forward, i); }
      if (i >= warmup) { add(p.backward, backward, i - warmup); }
    }
  }
  const auto shared = g.channel(p.bandwidth * p.scale_rates);
  for (int s = 0; s + 1 < p.stages; ++s) {
    for (const auto* phase : {&forward, &backward}) {
      const auto wire = p.one_wire ? shared : g.channel(p.bandwidth * p.scale_rates);
      TaskId before = strategies::kNoTask;
      for (int m = 0; m < p.micro_batches; ++m) {
        const int from = phase == &forward ? s : s + 1;
        const int to = phase == &forward ? s + 1 : s;
        const TaskId message =
            g.comm(p.latency / p.scale_rates, {{{wire}, p.bytes}}, {(*phase)[at(from, m)]});
        g.builder.edge(message, (*phase)[at(to, m)]);
        g.builder.edge(before, message);
        before = message;
      }
    }
  }
  return g;
}

}  // namespace tsim::test
