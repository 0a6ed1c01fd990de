// Messages straight to where they belong, all at once.
#include "cost/collectives/algorithms.hpp"

namespace tsim::cost::collectives {
namespace {

/// Slowest of the messages root -> i, or i -> root: a part each, or all.
Seconds star(const Request& request, Draft& draft) {
  const int root = request.devices[0];
  const bool parts = request.op == CollectiveOp::scatter || request.op == CollectiveOp::gather;
  const double part =
      parts ? request.payload / static_cast<double>(request.devices.size()) : request.payload;
  const bool out = request.op == CollectiveOp::scatter || request.op == CollectiveOp::broadcast;
  Seconds slowest;
  for (const int device : request.devices.subspan(1)) {
    slowest = std::max(slowest, draft.send(out ? root : device, out ? device : root, part));
  }
  return slowest;
}

Seconds everyone(const Request& request, Draft& draft) {
  const double part = request.payload / static_cast<double>(request.devices.size());
  Seconds slowest;
  for (const int from : request.devices) {
    for (const int to : request.devices) {
      if (from != to) { slowest = std::max(slowest, draft.send(from, to, part)); }
    }
  }
  return slowest;
}

Seconds chain(const Request& request, Draft& draft) {
  Seconds slowest;
  for (std::size_t i = 0; i + 1 < request.devices.size(); ++i) {
    slowest =
        std::max(slowest, draft.send(request.devices[i], request.devices[i + 1], request.payload));
  }
  return slowest;
}

}  // namespace

void direct(const Request& request, Draft& draft) {
  switch (request.op) {
    case CollectiveOp::send_recv: draft.add_latency(chain(request, draft)); return;
    case CollectiveOp::broadcast:
    case CollectiveOp::reduce:
    case CollectiveOp::scatter:
    case CollectiveOp::gather: draft.add_latency(star(request, draft)); return;
    case CollectiveOp::all_reduce:
      for (int phase = 0; phase < 2; ++phase) { draft.end_step(everyone(request, draft)); }
      return;
    default: draft.add_latency(everyone(request, draft)); return;
  }
}

/// Barrier: in round k every rank tells the one 2^k further on, ceil(log2 n) rounds.
///   [Hensgen, Finkel, Manber, Int. J. Parallel Programming 17, 1988]
void dissemination(const Request& request, Draft& draft) {
  const std::size_t n = request.devices.size();
  for (std::size_t reach = 1; reach < n; reach *= 2) {
    Seconds slowest;
    for (std::size_t i = 0; i < n; ++i) {
      slowest = std::max(slowest, draft.step(request.devices[i], request.devices[(i + reach) % n]));
    }
    draft.add_latency(slowest);
  }
}

namespace {

/// Every device sends `bytes` to every other one; the longest latency.
Seconds send_to_each_other(const std::vector<int>& devices, double bytes, Draft& draft) {
  Seconds slowest;
  for (const int from : devices) {
    for (const int to : devices) {
      if (from != to) { slowest = std::max(slowest, draft.send(from, to, bytes)); }
    }
  }
  return slowest;
}

}  // namespace

/// All-to-all that changes rails inside nodes: what is for rank (node, place) goes first to the
/// neighbour in that place, then along its rail, all neighbours' messages in one.
///   [NVIDIA, "Doubling all2all performance with NCCL 2.12" (PXN), 2022]
void rails(const Request& request, Draft& draft) {
  const std::vector<std::vector<int>> nodes = by_node(request.devices, draft.router().topology());
  const double part = request.payload / static_cast<double>(request.devices.size());
  const auto local = static_cast<double>(nodes[0].size()),
             count = static_cast<double>(nodes.size());
  Seconds inside;
  for (const std::vector<int>& node : nodes) {
    if (node.size() != nodes[0].size()) {
      throw not_possible("rails", "nodes with different numbers of ranks");
    }
    inside = std::max(inside, send_to_each_other(node, count * part, draft));
  }
  Seconds between;
  for (std::size_t place = 0; place < nodes[0].size(); ++place) {
    std::vector<int> rail;
    rail.reserve(nodes.size());
    for (const std::vector<int>& node : nodes) { rail.push_back(node[place]); }
    between = std::max(between, send_to_each_other(rail, local * part, draft));
  }
  draft.add_latency(inside + between);
}

}  // namespace tsim::cost::collectives
