#include <algorithm>
#include <iomanip>
#include <sstream>

#include "sim/input/rules/check_scenario.hpp"

namespace tsim::sim {
namespace {

/// Fewer micro-batches than stages never fill the pipeline
/// [arXiv:2104.04473, sec. 2.2.1: idle / step = (p-1)/(m+p-1)].
void warn_of_bubble(const Scenario& s, Problems& problems) {
  const std::int64_t m = micro_batches(s);
  const std::int64_t p = s.strategy.pipeline;
  if (m >= p) { return; }
  std::ostringstream out;
  out << m << (m == 1 ? " micro-batch" : " micro-batches") << " for " << p
      << " stages leave bubble_fraction (p-1)/(m+p-1) = " << std::fixed << std::setprecision(1)
      << 100.0 * static_cast<double>(p - 1) / static_cast<double>(m + p - 1) << " %";
  problems.warn("/workload/global_batch", out.str());
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
  if (s.zero == 1 && s.data == 1) {
    problems.warn("/strategy/zero",
                  "has no effect with data = 1: states are sharded over replicas");
  }
  if (s.zero == 1 && !scenario.workload.training) {
    problems.warn("/strategy/zero", "has no effect with mode \"forward\": there is no optimizer");
  }
  if (scenario.workload.training) { warn_of_bubble(scenario, problems); }
  for (const cost::Device& device : scenario.cluster.devices) {
    warn_of_format(scenario, device, problems);
  }
}

}  // namespace tsim::sim
