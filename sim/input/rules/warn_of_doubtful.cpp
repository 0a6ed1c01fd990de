#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>

#include "sim/input/rules/check_scenario.hpp"
#include "strategies/schedule.hpp"

namespace tsim::sim {
namespace {

/// Fewer micro-batches than stages never fill the pipeline: idle / step time by the schedule's own
/// formula, (p-1)/(m+p-1) for most [arXiv:2104.04473, sec. 2.2.1].
void warn_of_bubble(const Scenario& s, Problems& problems) {
  const std::int64_t m = micro_batches(s);
  const std::int64_t p = s.strategy.pipeline;
  const strategies::Schedule* const schedule = strategies::schedule_named(s.strategy.schedule);
  if (m >= p || schedule == nullptr || schedule->idle == nullptr) { return; }
  const strategies::PhaseTimes usual;  // B = 2F
  const auto shape = strategies::shape_of(s.strategy, static_cast<int>(m));
  const double idle = schedule->idle(shape, usual);
  const double work = static_cast<double>(m) * (usual.forward + usual.backward);
  const double fraction = idle / (idle + work);
  const bool common = std::abs(fraction - strategies::bubble_fraction(shape)) < 1e-9;
  std::ostringstream out;
  out << m << (m == 1 ? " micro-batch" : " micro-batches") << " for " << p
      << " stages leave bubble_fraction "
      << (common && shape.chunks == 1 ? "(p-1)/(m+p-1) = " : "= ") << std::fixed
      << std::setprecision(1) << 100.0 * fraction << " %";
  problems.warn("/workload/global_batch", out.str());
}

/// Schedules that never drain are simulated for one iteration from an empty pipeline.
void warn_of_no_drain(const Scenario& s, Problems& problems) {
  const bool drains = s.strategy.schedule != "pipedream" && s.strategy.schedule != "pipedream_2bw";
  if (drains || s.strategy.pipeline == 1) { return; }
  problems.warn("/strategy/schedule",
                "\"" + s.strategy.schedule +
                    "\" does not drain between iterations: this step fills and drains once, "
                    "which a run pays once");
  if (s.model.tied_embedding && strategies::steps_each(s.strategy)) {
    problems.warn("/model", "copies of the tied embedding are added up once, at the end");
  }
}

/// Formats that the device has no peak for are computed at the rate of a wider one.
void warn_of_format(const Scenario& s, const cost::Device& device, Problems& problems) {
  const models::DType compute = s.strategy.precision.compute;
  const bool known = compute == models::DType::fp32 || cost::peak(device, compute).has_value();
  if (!known) {
    problems.warn("/precision/compute", device.name + " states no peak for " +
                                            std::string(models::name_of(compute)) +
                                            "; the next wider format's is used");
  }
}

}  // namespace

void warn_of_doubtful(const Scenario& scenario, Problems& problems) {
  const strategies::Strategy& s = scenario.strategy;
  if (s.sequence_parallel && s.tensor == 1) {
    problems.warn("/strategy/sequence_parallel", "has no effect with tensor = 1");
  }
  if (scenario.model.kv_heads > 0 && s.tensor > scenario.model.kv_heads) {
    problems.warn("/strategy/tensor", std::to_string(s.tensor) + " ranks share " +
                                          std::to_string(scenario.model.kv_heads) +
                                          " key/value heads: each is held more than once");
  }
  if (s.scatter_gather && (s.tensor == 1 || s.pipeline == 1)) {
    problems.warn("/strategy/scatter_gather", "has no effect without tensor and pipeline > 1");
  }
  if (s.zero.stage >= 1 && replica_count(s) == 1) {
    problems.warn("/strategy/zero",
                  "has no effect with data = 1: states are sharded over replicas");
  }
  if (s.zero.stage >= 1 && !scenario.workload.training) {
    problems.warn("/strategy/zero", "has no effect with mode \"forward\": there is no optimizer");
  }
  if (scenario.workload.training) {
    warn_of_bubble(scenario, problems);
    warn_of_no_drain(scenario, problems);
  }
  for (const cost::Device& device : scenario.cluster.devices) {
    warn_of_format(scenario, device, problems);
  }
}

}  // namespace tsim::sim
