// The inside of a node, part by part.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cost/wiring/node_design.hpp"
#include "sim/input/json_reader.hpp"

namespace tsim::sim {

inline constexpr std::int64_t kMostInNode = 1024;

/// What a node's description refers to.
struct NodeContext {
  const std::vector<std::string>* kinds = nullptr;  // names of the cluster's kinds of device
  int kind = 0;                                     // of devices that do not name theirs
  std::filesystem::path folder = {};                // where node files are looked for
};

/// The node at `place`: an object, the name or path of a node file, or {"base": file, ...}.
/// Whatever it refers to exists, or there are problems.
cost::NodeDesign read_node_design(const Place& place, const NodeContext& context);

}  // namespace tsim::sim
