// The analytic tier of a search: step time and memory of a choice, from costs planned once.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/scenario.hpp"
#include "sim/sweep/choice.hpp"
#include "sim/sweep/held.hpp"
#include "sim/sweep/part_table.hpp"
#include "strategies/layout.hpp"

namespace tsim::sim {

/// What the analytic tier knows of a choice. Parts of a step add up to it.
struct Estimate {
  bool known = true;  // false: the schedule has no formula, and `step` is the work alone
  double step = 0;    // s
  double work = 0, idle = 0, transfers = 0, gradients = 0, optimizer = 0;
  std::int64_t memory = 0;  // bytes of the fullest rank, with the allowance
  bool fits = true;
  bool composed = true;  // false: planned by itself, for want of costs that it can be composed of
};

/// Estimates choices for one scenario: strategies::closed_form() and the memory of the schedule's
/// order, to 1e-9. The costs of a model's block are planned once for what they depend on; the rest
/// is sums. Where no such sums hold (several kinds of device, offload, layers that differ,
/// schedules in waves ...) the choice is planned as `tsim run` plans it.
class Estimator {
 public:
  /// `scenario`: read without the rules between its parts.
  explicit Estimator(Scenario scenario);
  ~Estimator();
  Estimator(const Estimator&) = delete;
  Estimator& operator=(const Estimator&) = delete;

  /// Of a choice that breaks no rule. None when the step is sure to take `limit` or longer.
  std::optional<Estimate> estimate(const Choice& choice,
                                   double limit = std::numeric_limits<double>::infinity());

  /// No step with the same block fields takes less, whatever the other fields are, on `devices`:
  /// the compute of all layers, evenly divided. 0 when nothing is known.
  double least_step(const Choice& choice, std::int64_t devices);

  /// Of the scenario as it is, planned as `tsim run` plans it.
  Estimate planned();

  const Scenario& scenario() const { return scenario_; }
  /// The scenario with a choice applied; valid until the next call.
  const Scenario& with(const Choice& choice);

 private:
  struct StageRun;
  struct Pipeline;
  struct Shares;
  class GroupTimes;

  bool composable(const Choice& choice);
  bool regular(const Choice& choice);
  PartTable& parts(const Choice& choice);
  Pipeline& pipeline(const Choice& choice);
  void add_runs(const std::vector<int>& counts, Pipeline& pipeline);
  const Shares& shares(const Choice& choice, Pipeline& pipeline);
  double transfers(const Choice& choice, const Pipeline& pipeline);
  double gradients(const Choice& choice, const Pipeline& pipeline);
  double optimizer(const Choice& choice, const Pipeline& pipeline);
  double collective(cost::CollectiveOp op, Bytes size);
  std::int64_t with_allowance(std::int64_t bytes) const;

  Scenario scenario_;
  bool plain_ = true;  // nothing in the scenario keeps choices from being composed
  cost::Router router_;
  strategies::CollectiveTimes times_;
  HeldTable held_;
  std::unordered_map<std::string, std::unique_ptr<PartTable>> tables_;
  std::string table_key_;
  PartTable* table_ = nullptr;
  std::unique_ptr<Pipeline> pipeline_;
  std::map<std::array<std::int64_t, 4>, bool> regular_;
  std::unordered_map<std::uint64_t, const cost::CollectiveCurve*> messages_;  // by two devices
  std::map<std::array<std::int64_t, 4>, std::unique_ptr<GroupTimes>> groups_;
  GroupTimes* group_ = nullptr;
};

}  // namespace tsim::sim
