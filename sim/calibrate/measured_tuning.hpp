// The tuning of a communication library from what was measured on a cluster's devices.
#pragma once

#include <string>
#include <vector>

#include "cost/measured.hpp"
#include "cost/topology.hpp"

namespace tsim::calibrate {

/// How well a regime meets the points that it was fitted to.
struct TunedRegime {
  cost::Regime regime{};
  int points = 0;
  double residual = 0;  // root of the mean square, as a share of the time
};

struct MeasuredTuning {
  int ranks = 0;  // of the points that were taken
  std::vector<TunedRegime> regimes{};
  std::vector<std::string> remarks{};  // operations left out, and why
  cost::Tuning tuning(const std::string& name, const std::string& source) const;
};

/// A regime for each operation that was measured on at least three sizes among as many devices as
/// any: `least` is the time of the smallest messages; start and share of the wires are such that
/// the plan of the operation over the cluster's first devices takes alpha + bytes / rate of the
/// larger ones. Without a measured collective: no regimes.
MeasuredTuning measured_tuning(const cost::Measured& measured, const cost::Cluster& cluster);

}  // namespace tsim::calibrate
