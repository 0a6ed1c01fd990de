// Ranks that compute slower than their device should.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "strategies/fold.hpp"
#include "strategies/layout.hpp"
#include "strategies/stage_plan.hpp"
#include "strategies/task_graph.hpp"

namespace tsim::strategies {

/// Random slowness: factors of mean 1 that are distributed log-normally.
struct Jitter {
  double variation = 0;  // coefficient of variation (standard deviation / mean); 0: none
  std::int64_t seed = 1;
  bool operator==(const Jitter&) const = default;
};

/// Draw number `draw` of `device`: exp(sigma z - sigma^2/2) with sigma^2 = ln(1 + variation^2) and
/// z of a standard normal distribution, which has mean 1. It depends on nothing but its arguments.
double jitter_factor(const Jitter& jitter, int device, std::int64_t draw);

/// `slowdown`: by device, how many times as long its computations last; empty: none is slow. The
/// axes of `folded` along which nothing tells ranks apart.
FoldedAxes fold_alike(FoldedAxes folded, const Layout& layout, std::span<const double> slowdown);

/// Plans whose times are those of each stage's slowest rank.
std::vector<StagePlan> slowed_plans(std::vector<StagePlan> plans, const Layout& layout,
                                    std::span<const double> slowdown);

/// Sets the factor of every rank by its device.
void slow_ranks(TaskGraph& graph, std::span<const double> slowdown);

}  // namespace tsim::strategies
