#include "cost/programs/lay_out.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

#include "cost/collectives/algorithms.hpp"
#include "cost/collectives/ring_orders.hpp"
#include "cost/collectives/spanning_trees.hpp"
#include "cost/programs/expand.hpp"
#include "cost/programs/expansions.hpp"

namespace tsim::cost {
namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }

/// Pieces in which each of `lanes` trees or chains hands on its part.
int pieces_of(Bytes payload, std::size_t lanes) {
  constexpr std::int64_t kPiece = std::int64_t{128} * 1024, kMost = 128;
  const std::int64_t part = payload.value / static_cast<std::int64_t>(lanes);
  return static_cast<int>(std::clamp<std::int64_t>(part / kPiece, 1, kMost));
}

std::optional<CollectiveProgram> rings_on(CollectiveOp op, std::span<const int> devices,
                                          Bytes payload, Router& router) {
  std::vector<std::vector<int>> orders = ring_ranks(devices, router);
  if (orders.empty()) { return std::nullopt; }
  refuse_too_many_steps(op, "ring", devices.size(), orders.size());
  if (op != CollectiveOp::broadcast && op != CollectiveOp::reduce) {
    return ring_program(op, orders);
  }
  for (std::vector<int>& order : orders) {
    std::rotate(order.begin(), std::ranges::find(order, 0), order.end());
  }
  return chain_program(op, orders, pieces_of(payload, orders.size()));
}

/// Ranks node by node, all nodes with equally many; empty where they have not.
std::vector<std::vector<int>> equal_nodes(std::span<const int> devices, const Topology& topology) {
  std::map<int, int> rank_of;
  for (std::size_t r = 0; r < devices.size(); ++r) { rank_of[devices[r]] = static_cast<int>(r); }
  std::vector<std::vector<int>> nodes = collectives::by_node(devices, topology);
  for (std::vector<int>& node : nodes) {
    if (node.size() != nodes[0].size()) { return {}; }
    std::ranges::transform(node, node.begin(), [&](int device) { return rank_of.at(device); });
  }
  return nodes;
}

/// Ranks in a grid's order, and its dimensions.
struct GridLayout {
  std::vector<int> ranks;
  std::vector<int> sizes;
};

/// Places in the node by nodes, or by the dimensions of the torus that the nodes make up; none
/// where they do not.
std::optional<GridLayout> grid_layout(std::span<const int> devices, bool torus,
                                      const Topology& topology) {
  const auto nodes = equal_nodes(devices, topology);
  if (nodes.empty()) { return std::nullopt; }
  GridLayout grid;
  for (const std::vector<int>& node : nodes) {
    grid.ranks.insert(grid.ranks.end(), node.begin(), node.end());
  }
  const int count = static_cast<int>(nodes.size());
  grid.sizes = {static_cast<int>(nodes[0].size()), count};
  if (!torus) { return grid; }
  const std::vector<int>& sizes = topology.torus.sizes;
  int routers = 1;
  for (const int size : sizes) { routers *= size; }
  if (sizes.empty() || routers != count) { return std::nullopt; }
  grid.sizes.pop_back();
  grid.sizes.insert(grid.sizes.end(), sizes.begin(), sizes.end());
  return grid;
}

/// Along the dimensions of a grid. A rank that is not at its own place in the grid would end a
/// reduce-scatter with another one's part: such devices have no program of it.
std::optional<CollectiveProgram> grid_on(CollectiveOp op, const std::optional<GridLayout>& grid,
                                         GridShape shape) {
  if (!grid) { return std::nullopt; }
  if (op != CollectiveOp::all_reduce && !std::ranges::is_sorted(grid->ranks)) {
    return std::nullopt;
  }
  CollectiveProgram program = grid_program(op, grid->sizes, shape);
  for (Step& step : program.steps) {
    step.from = grid->ranks[index(step.from)];
    step.to = grid->ranks[index(step.to)];
  }
  return program;
}

bool is_grid(std::string_view algorithm) {
  return algorithm == "hierarchical" || algorithm == "hierarchical_serial" || algorithm == "torus";
}

/// Half of a torus's pieces go each way.
GridShape grid_shape(std::string_view algorithm, int pieces) {
  if (algorithm == "torus") { return {2 * ((pieces + 1) / 2), true}; }
  return {algorithm == "hierarchical" ? pieces : 1, false};
}

/// Reduce-broadcast over the planner's trees.
CollectiveProgram reduce_broadcast_on(std::span<const int> devices, Bytes payload, Router& router) {
  const auto half = [&](CollectiveOp op) {
    const auto trees = collectives::spanning_trees(op, devices, router);
    return tree_program(op, trees, pieces_of(payload, trees.size()));
  };
  return one_after_the_other(CollectiveOp::all_reduce, half(CollectiveOp::reduce),
                             half(CollectiveOp::broadcast));
}

Step step_between(int from, int to, Buffer source_buffer, int source) {
  Step step{.from = from, .to = to};
  step.source_buffer = source_buffer;
  step.source = source;
  return step;
}

/// All-to-all that changes rails inside nodes, then goes along them: what neighbour i has for
/// node b waits as chunk b * local + i in the scratch space of the rank on the right rail.
std::optional<CollectiveProgram> rails_on(std::span<const int> devices, const Topology& topology) {
  const auto nodes = equal_nodes(devices, topology);
  if (nodes.empty()) { return std::nullopt; }
  const int count = static_cast<int>(nodes.size()), local = static_cast<int>(nodes[0].size());
  const int n = static_cast<int>(devices.size());
  refuse_too_many_steps(CollectiveOp::all_to_all, "rails", devices.size(), 1);
  for (int i = 0; i < n; ++i) {
    // A node's ranks must be numbered one after the other: its part of a rank's output is one run.
    if (nodes[index(i / local)][index(i % local)] != i) { return std::nullopt; }
  }
  ProgramBuilder builder("rails", CollectiveOp::all_to_all, n, n, n);
  for (int from = 0; from < n; ++from) {
    for (int turn = 0; turn < local; ++turn) {
      const int place = (from + turn) % local, here = from / local * local;
      for (int node = 0; node < count; ++node) {
        Step step = step_between(from, here + place, Buffer::input, node * local + place);
        step.target_buffer = Buffer::scratch;
        step.target = node * local + from % local;
        builder.add(step);
      }
    }
  }
  for (int turn = 0; turn < count; ++turn) {
    for (int from = 0; from < n; ++from) {
      const int node = (from / local + turn) % count;
      Step step = step_between(from, node * local + from % local, Buffer::scratch, node * local);
      step.target = from / local * local;
      step.count = local;
      builder.add(step);
    }
  }
  return std::move(builder).finish();
}

}  // namespace

std::vector<std::vector<int>> ring_ranks(std::span<const int> devices, Router& router) {
  std::map<int, int> rank_of;
  for (std::size_t r = 0; r < devices.size(); ++r) { rank_of[devices[r]] = static_cast<int>(r); }
  std::vector<std::vector<int>> orders = collectives::ring_orders(devices, router);
  for (std::vector<int>& order : orders) {
    if (order.size() != devices.size()) { return {}; }
    std::ranges::transform(order, order.begin(), [&](int device) { return rank_of.at(device); });
  }
  return orders;
}

bool has_steps(CollectiveOp op, std::string_view algorithm, std::span<const int> devices,
               Router& router) {
  if (devices.size() > 1) {
    if (algorithm == "ring") { return !ring_ranks(devices, router).empty(); }
    if (algorithm == "tree") { return true; }
    if (algorithm == "hierarchical" || algorithm == "hierarchical_serial" || algorithm == "torus") {
      const auto grid = grid_layout(devices, algorithm == "torus", router.topology());
      return grid && (op == CollectiveOp::all_reduce || std::ranges::is_sorted(grid->ranks));
    }
    if (algorithm == "rails") {
      // Few steps: simply tried.
      return rails_on(devices, router.topology()).has_value();
    }
  }
  return has_program(op, algorithm);
}

void refuse_too_many_steps(CollectiveOp op, std::string_view algorithm, std::size_t ranks,
                           std::size_t rings) {
  const bool chain = op == CollectiveOp::broadcast || op == CollectiveOp::reduce;
  const bool star =
      op == CollectiveOp::scatter || op == CollectiveOp::gather || op == CollectiveOp::send_recv;
  const bool pairs = algorithm == "ring" || algorithm == "direct" || algorithm == "rails" ||
                     algorithm == "sharded_server";
  if (chain || star || !pairs) { return; }
  const auto n = static_cast<std::int64_t>(ranks), lanes = static_cast<std::int64_t>(rings);
  const std::int64_t steps = n * (n - 1) * lanes * (op == CollectiveOp::all_reduce ? 2 : 1);
  if (steps > kMostSteps) {
    throw std::length_error(std::string(algorithm) + " over " + std::to_string(n) + " ranks has " +
                            std::to_string(steps) + " steps, more than " +
                            std::to_string(kMostSteps) + "; aggregated they can be had");
  }
}

namespace {

/// Of several devices, an algorithm that goes by how they are wired; none for another one.
std::optional<CollectiveProgram> wired_program(CollectiveOp op, std::string_view algorithm,
                                               std::span<const int> devices, Bytes payload,
                                               Router& router) {
  const Topology& topology = router.topology();
  if (algorithm == "ring") { return rings_on(op, devices, payload, router); }
  if (algorithm == "tree") {
    const auto trees = collectives::spanning_trees(op, devices, router);
    return tree_program(op, trees, pieces_of(payload, trees.size()));
  }
  if (algorithm == "reduce_broadcast") { return reduce_broadcast_on(devices, payload, router); }
  if (algorithm == "rails") { return rails_on(devices, topology); }
  if (is_grid(algorithm)) {
    return grid_on(op, grid_layout(devices, algorithm == "torus", topology),
                   grid_shape(algorithm, pieces_of(payload, devices.size())));
  }
  return std::nullopt;
}

bool goes_by_wires(std::string_view algorithm) {
  return algorithm == "ring" || algorithm == "tree" || algorithm == "reduce_broadcast" ||
         algorithm == "rails" || is_grid(algorithm);
}

}  // namespace

std::optional<CollectiveProgram> program_on(CollectiveOp op, std::string_view algorithm,
                                            std::span<const int> devices, Bytes payload,
                                            Router& router) {
  const int n = static_cast<int>(devices.size());
  if (n > 1 && goes_by_wires(algorithm)) {
    return wired_program(op, algorithm, devices, payload, router);
  }
  if (!has_program(op, algorithm)) { return std::nullopt; }
  refuse_too_many_steps(op, algorithm, devices.size(), 1);
  return expand(op, algorithm, n);
}

}  // namespace tsim::cost
