#include "cost/programs/expand.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <numeric>
#include <utility>

#include "cost/collectives/tree_shape.hpp"
#include "cost/programs/expansions.hpp"

namespace tsim::cost {
namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }

/// `count` chunks from one place to the same one of another rank.
Step handed(int from, int to, int chunk, int count = 1) {
  return {.from = from, .to = to, .source = chunk, .target = chunk, .count = count};
}

Step added(int from, int to, int chunk, int count = 1) {
  Step step = handed(from, to, chunk, count);
  step.reduce = true;
  return step;
}

CollectiveProgram ring(CollectiveOp op, int n, int pieces) {
  std::vector<int> order(index(n));
  std::iota(order.begin(), order.end(), 0);
  const std::vector<std::vector<int>> rings(index(pieces), order);
  return ring_program(op, rings);
}

CollectiveProgram chain(CollectiveOp op, int n, int pieces) {
  std::vector<int> order(index(n));
  std::iota(order.begin(), order.end(), 0);
  return chain_program(op, std::vector<std::vector<int>>{order}, pieces);
}

/// Half of the pieces up and down each of the two trees.
CollectiveProgram tree(CollectiveOp op, int n, int pieces) {
  const std::vector trees{collectives::binary_tree(n, false), collectives::binary_tree(n, true)};
  return tree_program(op, trees, pieces);
}

/// From each rank to each other one, no two to the same one at a time.
void everyone(ProgramBuilder& builder, int n, auto step) {
  for (int shift = 1; shift < n; ++shift) {
    for (int from = 0; from < n; ++from) { builder.add(step(from, (from + shift) % n)); }
  }
}

CollectiveProgram direct(CollectiveOp op, int n, int /*pieces*/) {
  ProgramBuilder builder("direct", op, n, n);
  const Buffer all = op == CollectiveOp::reduce_scatter ? Buffer::input : Buffer::output;
  const auto placed = [all](Step step) {
    step.source_buffer = step.target_buffer = all;
    return step;
  };
  if (op != CollectiveOp::all_gather) {
    everyone(builder, n, [&](int from, int to) { return placed(added(from, to, to)); });
  }
  if (op != CollectiveOp::reduce_scatter) {
    everyone(builder, n, [&](int from, int to) { return placed(handed(from, to, from)); });
  }
  return std::move(builder).finish();
}

CollectiveProgram star(CollectiveOp op, int n, int /*pieces*/) {
  ProgramBuilder builder("direct", op, n, n);
  for (int r = 1; r < n; ++r) {
    const bool out = op == CollectiveOp::scatter;
    Step step{.from = out ? 0 : r, .to = out ? r : 0};
    step.source = out ? r : 0;
    step.target = out ? 0 : r;
    step.source_buffer = Buffer::input;
    builder.add(step);
  }
  return std::move(builder).finish();
}

CollectiveProgram exchange(CollectiveOp op, int n, int /*pieces*/) {
  ProgramBuilder builder("direct", op, n, n);
  const auto step = [](int from, int to) {
    Step s{.from = from, .to = to};
    s.source = to;
    s.target = from;
    s.source_buffer = Buffer::input;
    return s;
  };
  for (int r = 0; r < n; ++r) { builder.add(step(r, r)); }
  everyone(builder, n, step);
  return std::move(builder).finish();
}

/// From each rank to the next one; none waits for another.
CollectiveProgram line(CollectiveOp op, int n, int /*pieces*/) {
  ProgramBuilder builder("direct", op, n, 1);
  for (int r = 0; r + 1 < n; ++r) {
    Step step = handed(r, r + 1, 0);
    step.source_buffer = Buffer::input;
    builder.add(step);
  }
  return std::move(builder).finish();
}

/// Nothing moves: in round k a rank tells the one 2^k further on that it has heard of round k - 1.
CollectiveProgram dissemination(CollectiveOp op, int n, int /*pieces*/) {
  const auto rounds = static_cast<int>(std::bit_width(static_cast<unsigned>(n - 1)));
  ProgramBuilder builder("dissemination", op, n, rounds + 1);
  for (int k = 0; k < rounds; ++k) {
    for (int r = 0; r < n; ++r) {
      Step step = handed(r, (r + (1 << k)) % n, k);
      step.target = k + 1;
      builder.add(step);
    }
  }
  return std::move(builder).finish();
}

/// The first rank adds up what all others send, then sends them the sum.
CollectiveProgram server(CollectiveOp op, int n, int /*pieces*/) {
  ProgramBuilder builder("parameter_server", op, n, 1);
  for (int r = 1; r < n; ++r) { builder.add(added(r, 0, 0)); }
  for (int r = 1; r < n; ++r) { builder.add(handed(0, r, 0)); }
  return std::move(builder).finish();
}

struct Row {
  CollectiveOp op{};
  std::string_view algorithm;
  Expansion* expand;
};

using enum CollectiveOp;
constexpr std::array kExpansions{
    Row{all_reduce, "ring", ring},
    Row{all_reduce, "tree", tree},
    Row{all_reduce, "direct", direct},
    Row{all_reduce, "halving_doubling", halving_doubling},
    Row{reduce_scatter, "ring", ring},
    Row{reduce_scatter, "direct", direct},
    Row{reduce_scatter, "halving", halving},
    Row{all_gather, "ring", ring},
    Row{all_gather, "direct", direct},
    Row{all_gather, "bruck", bruck},
    Row{all_gather, "doubling", doubling},
    Row{broadcast, "ring", chain},
    Row{broadcast, "tree", tree},
    Row{broadcast, "direct", star_of_all},
    Row{reduce, "ring", chain},
    Row{reduce, "tree", tree},
    Row{reduce, "direct", star_of_all},
    Row{scatter, "direct", star},
    Row{gather, "direct", star},
    Row{all_to_all, "direct", exchange},
    Row{all_to_all, "bruck", bruck_exchange},
    Row{send_recv, "direct", line},
    Row{barrier, "dissemination", dissemination},
    Row{all_reduce, "sharded_server", direct},
    Row{all_reduce, "parameter_server", server},
    Row{all_reduce, "reduce_broadcast", reduce_broadcast},
};

const Row* row_of(CollectiveOp op, std::string_view algorithm) {
  for (const Row& row : kExpansions) {
    if (row.op == op && row.algorithm == algorithm) { return &row; }
  }
  return nullptr;
}

}  // namespace

bool has_program(CollectiveOp op, std::string_view algorithm) {
  return row_of(op, algorithm) != nullptr;
}

CollectiveProgram expand(CollectiveOp op, std::string_view algorithm, int ranks, int pieces) {
  const Row* row = row_of(op, algorithm);
  assert(row != nullptr && ranks >= 1 && pieces >= 1);
  return row->expand(op, ranks, pieces);
}

}  // namespace tsim::cost
