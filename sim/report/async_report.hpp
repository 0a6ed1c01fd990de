// How stale parameters are when workers do not wait for each other, and how fast they are together.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "sim/timeline.hpp"
#include "strategies/async_data.hpp"

namespace tsim::sim {

/// Counts by value.
using Histogram = std::map<int, std::int64_t>;
double mean(const Histogram& histogram);

struct AsyncReport {
  int iterations = 0;                // of every worker
  double iterations_per_second = 0;  // of all workers, in the steady state
  std::vector<double> worker_rates;  // the same, by worker
  Histogram staleness;  // of each iteration: others' updates applied between its pull and its own
  Histogram ahead;      // of each iteration at its pull: clocks before the slowest worker
};

/// The steady state is the second half of the time until the first worker has done all its
/// iterations: a worker's rate is that of the iterations that end in it, or of all its iterations
/// where these are fewer than three.
AsyncReport async_report(const strategies::AsyncRun& run, const Timeline& timeline);

}  // namespace tsim::sim
