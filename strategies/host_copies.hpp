// The way of copies between a device, its host's memory and its host's drives.
#pragma once

#include <vector>

#include "strategies/rank_group.hpp"
#include "strategies/task_graph.hpp"

namespace tsim::strategies {

class HostCopies {
 public:
  HostCopies(const cost::Topology& topology, cost::Router& router)
      : topology_(&topology), router_(&router) {}

  struct Copy {
    Seconds latency;
    std::vector<Flow> flows;
  };

  /// A copy of `bytes` along `axis`, one that is_copy(): to or from the memory nearest to the
  /// device, striped over all drives of its node. `way` says the direction: copy_in and drive_in
  /// bring something. Throws cost::Unreachable for a node without host memory, or without drives.
  Copy copy(GroupAxis axis, Stream way, int device, double bytes);

 private:
  cost::VertexId memory_of(int device);
  std::vector<cost::VertexId> of_kind(cost::VertexKind kind, int device) const;

  const cost::Topology* topology_;
  cost::Router* router_;
};

}  // namespace tsim::strategies
