#include "strategies/slowdown.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tsim::strategies {
namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }

/// SplitMix64: neighbouring states give independent numbers. [Steele et al., OOPSLA 2014, fig. 17]
std::uint64_t mixed(std::uint64_t state) {
  std::uint64_t z = state + 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

/// In (0, 1].
double uniform(std::uint64_t bits) { return static_cast<double>((bits >> 11U) + 1) * 0x1p-53; }

/// Of a standard normal distribution. [Box & Muller, Ann. Math. Stat. 29, 1958]
double normal(std::uint64_t state) {
  const double radius = std::sqrt(-2 * std::log(uniform(mixed(state))));
  return radius * std::cos(2 * std::numbers::pi * uniform(mixed(~state)));
}

/// Whether all of a stage's ranks are as slow as the one that stands for them.
bool alike(const Layout& layout, std::span<const double> slowdown, FoldedAxes folded, int stage) {
  for (int d = 0; d < layout.replicas(); ++d) {
    for (int t = 0; t < layout.tensor(); ++t) {
      const int stands = layout.rank({folded.tensor ? 0 : t, folded.data ? 0 : d, stage});
      if (slowdown[index(layout.rank({t, d, stage}))] != slowdown[index(stands)]) { return false; }
    }
  }
  return true;
}

bool all_alike(const Layout& layout, std::span<const double> slowdown, FoldedAxes folded) {
  for (int stage = 0; stage < layout.stages(); ++stage) {
    if (!alike(layout, slowdown, folded, stage)) { return false; }
  }
  return true;
}

void slow(Program& program, double factor) {
  for (Step& step : program.steps) { step.duration = factor * step.duration; }
}

void slow(StagePlan& plan, double factor) {
  for (ChunkPlan& chunk : plan.chunks) {
    for (Program* program :
         {&chunk.forward, &chunk.backward, &chunk.last_backward, &chunk.input_grad,
          &chunk.weight_grad, &chunk.last_weight_grad, &chunk.first_forward, &chunk.first_backward,
          &chunk.only_backward, &chunk.first_weight_grad, &chunk.only_weight_grad}) {
      slow(*program, factor);
    }
  }
  plan.optimizer = factor * plan.optimizer;
}

}  // namespace

double jitter_factor(const Jitter& jitter, int device, std::int64_t draw) {
  if (jitter.variation == 0) { return 1.0; }
  const double variance = std::log1p(jitter.variation * jitter.variation);
  std::uint64_t state = mixed(static_cast<std::uint64_t>(jitter.seed));
  state = mixed(state ^ static_cast<std::uint64_t>(device));
  state = mixed(state ^ static_cast<std::uint64_t>(draw));
  return std::exp(std::sqrt(variance) * normal(state) - variance / 2);
}

FoldedAxes fold_alike(FoldedAxes folded, const Layout& layout, std::span<const double> slowdown) {
  if (slowdown.empty()) { return folded; }
  for (const FoldedAxes axes :
       {folded, FoldedAxes{folded.tensor, false}, FoldedAxes{false, folded.data}}) {
    if (all_alike(layout, slowdown, axes)) { return axes; }
  }
  return {};
}

std::vector<StagePlan> slowed_plans(std::vector<StagePlan> plans, const Layout& layout,
                                    std::span<const double> slowdown) {
  if (slowdown.empty()) { return plans; }
  for (int stage = 0; stage < layout.stages(); ++stage) {
    double worst = 0;
    for (int data = 0; data < layout.replicas(); ++data) {
      for (const int rank : layout.tensor_group(data, stage)) {
        worst = std::max(worst, slowdown[index(rank)]);
      }
    }
    slow(plans[index(stage)], worst);
  }
  return plans;
}

void slow_ranks(TaskGraph& graph, std::span<const double> slowdown) {
  if (slowdown.empty()) { return; }
  for (Rank& rank : graph.ranks) { rank.slowdown = slowdown[index(rank.device)]; }
}

}  // namespace tsim::strategies
