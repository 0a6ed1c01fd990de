// Routes between all hosts of a platform, in a form that grows with hosts and not with their pairs.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "cost/topology.hpp"

namespace tsim::sim {

/// Links in order of travel, and latency beyond that of the links.
struct ListedRoute {
  std::vector<int> links;
  double latency = 0;
};

/// Where hosts are: those of one zone are alike as far as its builder knows.
struct HostZones {
  std::vector<int> zone;  // by host
  bool star = false;      // all zones of three hosts and more are stars: a link of its own for each
                          // host, and then all the same way
};

/// Whatever `route` says of two hosts, as ways up from each host, between places and down to each
/// host. Hosts of one zone share a place where that gives their routes, others are places of their
/// own. All pairs are compared where there are at most 512 hosts, else hosts must be in stars and
/// samples are compared. Nothing when there would be more than 512 places.
std::optional<cost::FixedRoutes> factored(const HostZones& zones,
                                          const std::function<ListedRoute(int, int)>& route);

}  // namespace tsim::sim
