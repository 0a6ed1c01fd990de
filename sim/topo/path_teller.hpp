// Paths as people read them.
#pragma once

#include <string>
#include <vector>

#include "cost/topology.hpp"

namespace tsim::sim {

/// Tells which vertices a path passes: "node0/gpu0 > nvswitch > gpu1". A node is named where it is
/// entered; two dots stand for links that never limit, which paths do not list.
class PathTeller {
 public:
  explicit PathTeller(const cost::Topology& topology);
  std::string text(const cost::Path& path, cost::VertexId from, cost::VertexId to) const;

 private:
  const cost::Topology* topology_;
  std::vector<std::int32_t> link_of_;  // by channel
};

}  // namespace tsim::sim
