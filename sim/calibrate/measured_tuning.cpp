#include "sim/calibrate/measured_tuning.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "cost/collectives.hpp"
#include "cost/fit.hpp"

namespace tsim::calibrate {
namespace {

using cost::CollectiveOp;

constexpr std::array kOps{CollectiveOp::all_reduce,     CollectiveOp::all_gather,
                          CollectiveOp::reduce_scatter, CollectiveOp::broadcast,
                          CollectiveOp::reduce,         CollectiveOp::all_to_all,
                          CollectiveOp::send_recv};

/// An operation's points by size, among one number of ranks.
std::vector<cost::Timed> points_of(const cost::Measured& measured, CollectiveOp op, int ranks) {
  std::vector<cost::Timed> points;
  for (const cost::Series& series : measured.series) {
    if (cost::name_of(series.key) != "collective " + std::string(name_of(op))) { continue; }
    for (const cost::MeasuredPoint& p : series.points) {
      if (p.shape[0] == ranks) {
        points.push_back({static_cast<double>(p.shape[1]), cost::time_of(p).value});
      }
    }
  }
  return points;
}

int most_ranks(const cost::Measured& measured, int devices) {
  std::int64_t most = 0;
  for (const cost::Series& series : measured.series) {
    if (series.key.kind != cost::PointKind::collective) { continue; }
    for (const cost::MeasuredPoint& p : series.points) {
      if (p.shape[0] <= devices) { most = std::max(most, p.shape[0]); }
    }
  }
  return static_cast<int>(most);
}

/// Seconds that operations take on the wires of a cluster in one regime.
class Wires {
 public:
  Wires(const cost::Cluster& cluster, int ranks)
      : topology_(cluster.topology), devices_(static_cast<std::size_t>(ranks)) {
    std::iota(devices_.begin(), devices_.end(), 0);
  }
  double time(CollectiveOp op, double bytes, const cost::Regime& regime) {
    topology_.tuning = {.name = "measured", .regimes = {regime}};
    cost::Router router(topology_);
    const Bytes payload{static_cast<std::int64_t>(bytes)};
    const cost::CollectivePlan plan = plan_collective(op, "auto", devices_, payload, router);
    return time_alone(plan, topology_, router).value;
  }

 private:
  cost::Topology topology_;
  std::vector<int> devices_;
};

double residual_of(Wires& wires, CollectiveOp op, const cost::Regime& regime,
                   const std::vector<cost::Timed>& points) {
  double squares = 0;
  for (const cost::Timed& p : points) {
    const double error = wires.time(op, p.bytes, regime) / p.seconds - 1;
    squares += error * error;
  }
  return std::sqrt(squares / static_cast<double>(points.size()));
}

}  // namespace

cost::Tuning MeasuredTuning::tuning(const std::string& name, const std::string& source) const {
  cost::Tuning tuning{.name = name, .source = source, .regimes = {}};
  for (const TunedRegime& one : regimes) { tuning.regimes.push_back(one.regime); }
  return tuning;
}

MeasuredTuning measured_tuning(const cost::Measured& measured, const cost::Cluster& cluster) {
  MeasuredTuning result{.ranks = most_ranks(measured, device_count(cluster))};
  if (result.ranks < 2) { return result; }
  Wires wires(cluster, result.ranks);
  constexpr double kLarge = 1 << 30;
  for (const CollectiveOp op : kOps) {
    const std::vector<cost::Timed> points = points_of(measured, op, result.ranks);
    if (points.size() < 3) { continue; }
    const cost::FloorLine line = cost::fit_floor(points);
    const double whole = wires.time(op, kLarge, {});
    const double per_byte = (whole - wires.time(op, kLarge / 2, {})) / (kLarge / 2);
    const double latency = whole - per_byte * kLarge;
    if (line.per_byte < per_byte) {
      result.remarks.push_back(std::string(name_of(op)) +
                               ": measured faster than the cluster's wires are");
      continue;
    }
    const cost::Regime regime{.protocol = "measured",
                              .op = op,
                              .start = Seconds{std::max(0.0, line.alpha - latency)},
                              .share = per_byte / line.per_byte,
                              .least = Seconds{line.floor}};
    result.regimes.push_back(
        {regime, static_cast<int>(points.size()), residual_of(wires, op, regime, points)});
  }
  if (result.regimes.empty()) { return result; }
  // Operations that were not measured start as the first that was.
  TunedRegime others = result.regimes.front();
  others.regime.op.reset();
  others.points = 0;
  result.regimes.insert(result.regimes.begin(), others);
  return result;
}

}  // namespace tsim::calibrate
