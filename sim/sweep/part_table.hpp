// Figures of parts of any length, of which only short ones are planned.
#pragma once

#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "sim/scenario.hpp"
#include "sim/sweep/part_figures.hpp"
#include "strategies/part_plan.hpp"

namespace tsim::sim {

/// `more` layers beyond what `longer` has, which has one more than `shorter`: every figure goes on
/// as from the one to the other, and so do the buckets that a layer fills. None where they do not
/// repeat.
std::optional<PartFigures> extended(const PartFigures& shorter, const PartFigures& longer,
                                    int more);

/// Whether all figures are the same, to 1e-9 of each.
bool alike(const PartFigures& a, const PartFigures& b);

/// Buckets in one list.
Buckets flattened(const Buckets& buckets);

/// Parts of one scenario's model under its strategy, on the first kind of device. The costs are
/// those of plan_part(): a part of up to five layers is planned; of the others the figures follow
/// from those where three, four and five layers go on alike, and are planned where they do not.
class PartTable {
 public:
  PartTable(const Scenario& scenario, strategies::CollectiveTimes& times);
  PartTable(const PartTable&) = delete;
  PartTable& operator=(const PartTable&) = delete;

  /// Whether the model is one whose parts are known by their lengths.
  bool usable() const { return blocks_.has_value(); }
  const std::vector<double>& layer_times() const { return layer_times_; }
  const PartFigures& figures(const strategies::PartForm& form);

 private:
  PartFigures planned(const strategies::PartForm& form);
  PartFigures found(const strategies::PartForm& form);

  strategies::Strategy strategy_;
  cost::Device device_;
  bool training_;
  strategies::ProgramClock clock_;
  std::optional<strategies::PartBlocks> blocks_;
  std::vector<double> layer_times_;
  std::map<std::tuple<int, bool, bool>, PartFigures> known_;
};

}  // namespace tsim::sim
