#include "strategies/strategy.hpp"

namespace tsim::strategies {

std::string_view name_of(Recompute recompute) {
  switch (recompute) {
    case Recompute::none: return "none";
    case Recompute::selective: return "selective";
    case Recompute::full: return "full";
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

std::string_view name_of(LayerSplit split) {
  switch (split) {
    case LayerSplit::even: return "even";
    case LayerSplit::balanced: return "balanced";
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

}  // namespace tsim::strategies
