// Where the times of a scenario's kernels come from: measured, interpolated, fitted or roofline.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "cost/roofline.hpp"
#include "sim/scenario.hpp"
#include "strategies/stage_plan.hpp"

namespace tsim::sim {

/// A distinct kernel of an iteration.
struct Lookup {
  std::optional<cost::Subject> subject{};  // what would have to be timed; none: nothing can be
  std::string kernel{};                    // name of the first kernel with this subject
  double runs = 0;                         // of one tensor-parallel rank of each stage, one replica
  Seconds time{};                          // of all of them
  cost::Origin origin = cost::Origin::roofline;
  bool is_product = false;  // also where nothing can be timed: products of groups
};

/// All kernels of one iteration on `device`, each shape once, longest first. `stages`: for the
/// optimizer's steps; none: without.
std::vector<Lookup> lookups(const Scenario& scenario, const models::Model& model,
                            const cost::Device& device,
                            const std::vector<strategies::StagePlan>& stages);

/// The ten that take longest of those that were not measured but can be.
std::vector<Lookup> heaviest_misses(const std::vector<Lookup>& lookups);

/// Time by origin.
std::array<Seconds, cost::kOrigins> times_by_origin(const std::vector<Lookup>& lookups);
/// Number of shapes by origin.
std::array<int, cost::kOrigins> counts_by_origin(const std::vector<Lookup>& lookups);

}  // namespace tsim::sim
