#include "strategies/strategy.hpp"

#include "cost/algorithm_choice.hpp"

namespace tsim::strategies {

std::string_view name_of(Recompute recompute) {
  switch (recompute) {
    case Recompute::none: return "none";
    case Recompute::selective: return "selective";
    case Recompute::full: return "full";
    case Recompute::operators: return "operators";
  }
  return "";
}

std::string_view name_of(RecomputeMethod method) {
  switch (method) {
    case RecomputeMethod::every: return "every";
    case RecomputeMethod::uniform: return "uniform";
    case RecomputeMethod::block: return "block";
    case RecomputeMethod::list: return "list";
    case RecomputeMethod::fit: return "fit";
  }
  return "";
}

std::string_view name_of(GradientSync sync) {
  switch (sync) {
    case GradientSync::automatic: return "auto";
    case GradientSync::last: return "last";
    case GradientSync::every: return "every";
  }
  return "?";
}

std::string_view name_of(ContextAttention attention) {
  switch (attention) {
    case ContextAttention::ring: return "ring";
    case ContextAttention::all_gather: return "all_gather";
    case ContextAttention::ulysses: return "ulysses";
  }
  return "?";
}

int variant_of(const Strategy& s, int tensor, int replica, int variants) {
  if (!is_unbalanced(s.experts)) { return replica % s.context % variants; }
  return (tensor + s.tensor * replica) / expert_tensor(s) % s.experts.ranks;
}

bool is_uneven(const Strategy& s, bool causal) {
  return causal && s.context > 1 && !s.zigzag && s.context_attention == ContextAttention::ring;
}

std::string_view name_of(LayerSplit split) {
  switch (split) {
    case LayerSplit::even: return "even";
    case LayerSplit::even_with_ends: return "even_with_ends";
    case LayerSplit::balanced: return "balanced";
    case LayerSplit::fitting: return "fitting";
    case LayerSplit::list: return "list";
  }
  return "";
}

std::string_view name_of(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::adam: return "adam";
    case Optimizer::adamw: return "adamw";
    case Optimizer::sgd: return "sgd";
    case Optimizer::sgd_momentum: return "sgd_momentum";
    case Optimizer::lamb: return "lamb";
    case Optimizer::adafactor: return "adafactor";
    case Optimizer::adam_8bit: return "adam_8bit";
    case Optimizer::muon: return "muon";
  }
  return "";
}

std::string_view name_of(DataMode mode) {
  switch (mode) {
    case DataMode::bsp: return "bsp";
    case DataMode::ssp: return "ssp";
    case DataMode::asp: return "asp";
  }
  return "";
}

std::string_view name_of(Fidelity fidelity) {
  switch (fidelity) {
    case Fidelity::aggregated: return "aggregated";
    case Fidelity::steps: return "steps";
  }
  return "";
}

std::string_view algorithm_of(const Strategy& strategy, cost::CollectiveOp op) {
  const auto chosen = strategy.collective_of.find(op);
  return cost::algorithm_or_auto(
      op, chosen == strategy.collective_of.end() ? strategy.collective : chosen->second);
}

bool cuts_messages(const Strategy& strategy) {
  return strategy.scatter_gather && !strategy.sequence_parallel;
}

}  // namespace tsim::strategies
