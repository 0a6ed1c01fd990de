#include "strategies/host_copies.hpp"

#include <algorithm>

namespace tsim::strategies {
namespace {

using cost::Path;
using cost::VertexId;

/// Of a message of 1 MiB, as routes are compared.
double message_time(const Path& path, const cost::Topology& topology) {
  constexpr double kMessage = 1 << 20;
  double slowest = 0;
  for (const cost::ChannelId c : path.channels) {
    const auto& channel = topology.channels[static_cast<std::size_t>(c)];
    slowest = std::max(slowest, kMessage / channel.bandwidth.value);
  }
  return path.latency.value + slowest;
}

}  // namespace

std::vector<VertexId> HostCopies::of_kind(cost::VertexKind kind, int device) const {
  const std::int32_t node = node_of(*topology_, device);
  std::vector<VertexId> found;
  for (std::size_t v = 0; v < topology_->vertices.size(); ++v) {
    const cost::Vertex& vertex = topology_->vertices[v];
    if (vertex.kind == kind && vertex.node == node) { found.push_back(static_cast<VertexId>(v)); }
  }
  if (found.empty()) {
    const auto at = static_cast<std::size_t>(topology_->devices[static_cast<std::size_t>(device)]);
    throw cost::Unreachable{topology_->vertices[at].name, std::string(name_of(kind))};
  }
  return found;
}

/// Of equally near ones each takes its part of the node's devices, in order.
VertexId HostCopies::memory_of(int device) {
  const std::vector<VertexId> memories = of_kind(cost::VertexKind::host_memory, device);
  const VertexId from = topology_->devices[static_cast<std::size_t>(device)];
  std::vector<double> times(memories.size());
  std::ranges::transform(memories, times.begin(), [&](VertexId memory) {
    return message_time(router_->vertex_path(from, memory), *topology_);
  });
  const double least = std::ranges::min(times);
  std::vector<VertexId> nearest;
  for (std::size_t i = 0; i < memories.size(); ++i) {
    if (times[i] <= least * (1 + 1e-9)) { nearest.push_back(memories[i]); }
  }
  const std::vector<VertexId> mates = of_kind(cost::VertexKind::device, device);
  const auto place = std::ranges::find(mates, from) - mates.begin();
  return nearest[static_cast<std::size_t>(place) * nearest.size() / mates.size()];
}

HostCopies::Copy HostCopies::copy(GroupAxis axis, Stream way, int device, double bytes) {
  const bool in = way == Stream::copy_in || way == Stream::drive_in;
  const auto path = [&](VertexId near, VertexId far) {
    return in ? router_->vertex_path(far, near) : router_->vertex_path(near, far);
  };
  const VertexId memory = memory_of(device);
  const Path to_memory = path(topology_->devices[static_cast<std::size_t>(device)], memory);
  Copy copy;
  if (axis == GroupAxis::host_memory) {
    copy.latency = to_memory.latency;
    copy.flows.push_back({to_memory.channels, bytes});
    return copy;
  }
  const std::vector<VertexId> drives = of_kind(cost::VertexKind::nvme, device);
  for (const VertexId drive : drives) {
    Path stripe = path(memory, drive);
    if (axis == GroupAxis::drive) {
      stripe.latency += to_memory.latency;
      stripe.channels.insert(stripe.channels.end(), to_memory.channels.begin(),
                             to_memory.channels.end());
    }
    copy.latency = std::max(copy.latency, stripe.latency);
    copy.flows.push_back({stripe.channels, bytes / static_cast<double>(drives.size())});
  }
  return copy;
}

}  // namespace tsim::strategies
