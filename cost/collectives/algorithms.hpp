// What the planner's algorithms have in common; one function a file of this folder.
#pragma once

#include <algorithm>
#include <span>

#include "cost/collectives.hpp"

namespace tsim::cost::collectives {

/// What is asked of an algorithm. At least two devices.
struct Request {
  CollectiveOp op{};
  std::span<const int> devices;
  double payload = 0;  // bytes
};

CollectivePlan ring(const Request& request, Router& router);           // ring.cpp
CollectivePlan tree(const Request& request, Router& router);           // tree.cpp
CollectivePlan direct(const Request& request, Router& router);         // direct.cpp
CollectivePlan dissemination(const Request& request, Router& router);  // direct.cpp

/// Adds a transfer to the plan and returns its path's latency.
inline Seconds send(CollectivePlan& plan, int from, int to, double bytes, Router& router) {
  plan.transfers.push_back({from, to, bytes});
  return router.path(from, to).latency;
}

}  // namespace tsim::cost::collectives
