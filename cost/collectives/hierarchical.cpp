// All-reduces along the dimensions of a grid of devices: reduce-scatter along each in turn, then
// all-gather back; either half alone; dimension k carries 2 (d_k - 1) / d_k of S / (d_1 ...
// d_{k-1}).
//   [Cho et al., "BlueConnect", MLSys 2019]
#include "cost/collectives/algorithms.hpp"

namespace tsim::cost::collectives {
namespace {

/// Devices as a grid, the first dimension varying fastest.
struct Grid {
  std::vector<int> devices;
  std::vector<int> sizes;
};

/// One of a grid's dimensions.
struct Dimension {
  int stride = 1;  // in Grid::devices
  int size = 1;
};

/// Every device sends to its neighbours along one dimension, half of the bytes each way where wires
/// of their own lead both ways. Returns the latency of once round the dimension's ring, but for its
/// last hop.
Seconds rings_along(const Grid& grid, Dimension along, double bytes, bool both_ways, Draft& draft) {
  const auto [stride, size] = along;
  const int n = static_cast<int>(grid.devices.size());
  Seconds slowest;
  for (int i = 0; i < n; ++i) {
    const int at = i / stride % size;
    const auto neighbour = [&, here = i, width = size, apart = stride](int step) {
      const int there = here + ((at + step) % width - at) * apart;
      return grid.devices[static_cast<std::size_t>(there)];
    };
    const int device = grid.devices[static_cast<std::size_t>(i)];
    const bool two = both_ways && size > 2;
    slowest = std::max(slowest, draft.send(device, neighbour(1), two ? bytes / 2 : bytes));
    if (two) { draft.send(device, neighbour(size - 1), bytes / 2); }
  }
  return (size - 1) * slowest;
}

/// `serial`: a dimension waits for the one before; else pieces of the buffer keep all busy.
void along_all(const Request& request, const Grid& grid, bool both_ways, bool serial,
               Draft& draft) {
  // An all-reduce goes round twice: a reduce-scatter, then an all-gather.
  const double rounds = request.op == CollectiveOp::all_reduce ? 2 : 1;
  int stride = 1;
  for (const int size : grid.sizes) {
    if (size > 1) {
      const double bytes = rounds * (size - 1) / size * request.payload / stride;
      const Seconds latency = rounds * rings_along(grid, {stride, size}, bytes, both_ways, draft);
      if (serial) {
        draft.end_step(latency);
      } else {
        draft.add_latency(latency);
      }
    }
    stride *= size;
  }
}

/// Place in the node by node.
Grid nodes_grid(const Request& request, const Topology& topology) {
  const std::vector<std::vector<int>> nodes = by_node(request.devices, topology);
  Grid grid;
  for (const std::vector<int>& node : nodes) {
    if (node.size() != nodes[0].size()) {
      throw not_possible("hierarchical", "nodes with different numbers of ranks");
    }
    grid.devices.insert(grid.devices.end(), node.begin(), node.end());
  }
  grid.sizes = {static_cast<int>(nodes[0].size()), static_cast<int>(nodes.size())};
  return grid;
}

}  // namespace

void hierarchical(const Request& request, Draft& draft) {
  along_all(request, nodes_grid(request, draft.router().topology()), false, false, draft);
}

void hierarchical_serial(const Request& request, Draft& draft) {
  along_all(request, nodes_grid(request, draft.router().topology()), false, true, draft);
}

/// Along the torus that the network is, for all of its nodes; several devices of a node are its
/// first dimension.
void torus(const Request& request, Draft& draft) {
  const Topology& t = draft.router().topology();
  Grid grid = nodes_grid(request, t);
  int routers = 1;
  for (const int size : t.torus.sizes) { routers *= size; }
  if (t.torus.sizes.empty() || routers != grid.sizes[1]) {
    throw not_possible("torus", "these are not the nodes of a torus, one at each router");
  }
  grid.sizes.pop_back();
  grid.sizes.insert(grid.sizes.end(), t.torus.sizes.begin(), t.torus.sizes.end());
  along_all(request, grid, true, false, draft);
}

}  // namespace tsim::cost::collectives
