// The analytic tier: step time in closed form from the same costs as the event tier.
#pragma once

#include "strategies/build_tasks.hpp"

namespace tsim::strategies {

/// Parts of a closed-form step time; they add up to `step`.
struct ClosedForm {
  bool known = true;  // false: the schedule has no closed form, and `pipeline` is the work alone
  Seconds step;
  Seconds pipeline;   // fill, steady state and drain
  Seconds transfers;  // activations and gradients between stages, on the critical path once
  Seconds gradients;  // gradient synchronisation that nothing hides
  Seconds optimizer;  // with the parameters' all-gather under ZeRO
};

/// T = m times the slowest stage's phases + the time that the schedule leaves a stage idle, of
/// which the formula (Schedule::idle) is taken of the mean of the other stages: for 1F1B the sum of
/// one micro-batch's phases over all stages + (m-1) x the slowest stage's, which for equal stages
/// is (m+p-1)(F+B) [arXiv:2104.04473, sec. 2.2]. Exact without contention for equal stages, as far
/// as the schedule's own formula is; where it differs from the event tier, the difference is what
/// only events see.
ClosedForm closed_form(const BuildInput& input);

}  // namespace tsim::strategies
