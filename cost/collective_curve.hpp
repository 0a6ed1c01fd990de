// What a collective takes by itself, for any payload.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "cost/topology.hpp"
#include "cost/tuning.hpp"

namespace tsim::cost {

/// Each algorithm in each regime takes max(least, fixed + payload x per_byte); a collective takes
/// the least of these. No lines: one device alone, nothing.
struct CollectiveCurve {
  struct Line {
    Seconds least{};
    Seconds fixed{};
    double per_byte = 0;  // s
  };
  std::vector<Line> lines;
};

/// time_at() of it is time_alone(plan_collective()) of the same arguments, for every payload.
/// Throws as that does.
CollectiveCurve collective_curve(CollectiveOp op, std::string_view algorithm,
                                 std::span<const int> devices, Router& router);

Seconds time_at(const CollectiveCurve& curve, Bytes payload);

}  // namespace tsim::cost
