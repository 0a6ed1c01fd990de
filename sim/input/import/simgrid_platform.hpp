// A SimGrid platform as SimGrid itself understands it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cost/topology.hpp"

namespace tsim::sim {

struct PlatformHost {
  std::string name;
  double speed = 0;  // FLOP/s of all its cores
};

struct PlatformLink {
  std::string name;
  double bandwidth = 0, latency = 0;
  bool shared = true;  // false: FATPIPE, each flow has the bandwidth to itself
};

struct Platform {
  std::vector<PlatformHost> hosts;  // node-2 before node-10
  std::vector<PlatformLink> links;
  cost::FixedRoutes routes;
};

/// The platform in a file, read by SimGrid in a process of its own; nothing and in `why` the
/// reason.
std::optional<Platform> load_platform(const std::filesystem::path& file, std::string& why);

}  // namespace tsim::sim
