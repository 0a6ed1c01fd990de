// All-reduces put together from other movements, and reductions inside switches.
#include "cost/collectives/algorithms.hpp"

namespace tsim::cost::collectives {

/// A reduce to the first rank, then a broadcast from it.
void reduce_broadcast(const Request& request, Draft& draft) {
  for (const CollectiveOp op : {CollectiveOp::reduce, CollectiveOp::broadcast}) {
    tree({op, request.devices, request.payload}, draft);
    draft.end_step({});
  }
}

/// The first rank is the server of all others.
void parameter_server(const Request& request, Draft& draft) {
  for (const bool push : {true, false}) {
    Seconds slowest;
    for (const int worker : request.devices.subspan(1)) {
      const int server = request.devices[0];
      slowest = std::max(
          slowest, draft.send(push ? worker : server, push ? server : worker, request.payload));
    }
    draft.end_step(slowest);
  }
}

/// Every rank is the server of its part of the buffer.   [Jiang et al., "BytePS", OSDI 2020]
void sharded_server(const Request& request, Draft& draft) {
  const double part = request.payload / static_cast<double>(request.devices.size());
  for (int phase = 0; phase < 2; ++phase) {
    Seconds slowest;
    for (const int from : request.devices) {
      for (const int to : request.devices) {
        if (from != to) { slowest = std::max(slowest, draft.send(from, to, part)); }
      }
    }
    draft.end_step(slowest);
  }
}

/// The switch adds: every rank reads its part of the sum, which makes all of them send it their
/// parts, and writes it back to all. Each device's link carries S (1 + 1/n) each way; messages from
/// each rank to the next one, which load the same links alike, stand for this. Over several nodes
/// trees join the ranks in the same place.
///   [Klenk et al., "An in-network architecture for accelerating shared-memory multiprocessor
///    collectives", ISCA 2020]
void in_switch(const Request& request, Draft& draft) {
  const Topology& t = draft.router().topology();
  const std::vector<std::vector<int>> nodes = by_node(request.devices, t);
  Seconds inside;
  for (const std::vector<int>& node : nodes) {
    const auto n = static_cast<double>(node.size());
    if (node.size() < 2 || node.size() != nodes[0].size()) {
      throw not_possible("in_switch", "needs nodes of equally many ranks, at least two");
    }
    for (std::size_t i = 0; i < node.size(); ++i) {
      if (t.device_reducer[static_cast<std::size_t>(node[i])] < 0) {
        throw not_possible("in_switch", "these devices' switch does not add");
      }
      const int next = node[(i + 1) % node.size()];
      inside = std::max(inside, draft.send(node[i], next, request.payload * (1 + 1 / n)));
    }
  }
  draft.add_latency(2 * inside);
  if (nodes.size() == 1) { return; }
  Seconds between;
  for (std::size_t place = 0; place < nodes[0].size(); ++place) {
    std::vector<int> heads;
    heads.reserve(nodes.size());
    for (const std::vector<int>& node : nodes) { heads.push_back(node[place]); }
    const double part = request.payload / static_cast<double>(nodes[0].size());
    between = std::max(between, all_reduce_trees(heads, part, draft));
  }
  draft.add_latency(between);
}

}  // namespace tsim::cost::collectives
