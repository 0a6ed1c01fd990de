// Samples cut into slices of tokens: how long they are, and what a stage does for each.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/scenario.hpp"
#include "strategies/stage_plan.hpp"

namespace tsim::sim {

struct Slices {
  std::vector<std::int64_t> tokens;                        // of each
  std::vector<std::vector<strategies::StagePlan>> stages;  // plans of each slice's phases
};

/// None unless the schedule is "terapipe". `whole`: the stages' plans of uncut samples, with whose
/// layers the slices' stages are made. Slices whose lengths are not stated take least by the
/// published dynamic programme, multiples of a 64th of the sequence.
Slices token_slices(const Scenario& scenario, const models::BuildOptions& options,
                    const std::vector<strategies::StagePlan>& whole);

}  // namespace tsim::sim
