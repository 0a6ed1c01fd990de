// Programs of algorithms whose partners are powers of two apart, and of several put together.
#include <algorithm>
#include <bit>
#include <utility>

#include "cost/programs/expand.hpp"
#include "cost/programs/expansions.hpp"

namespace tsim::cost {
namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }

/// Ranks below a power of two n, and those beyond it that fold into the first of them.
class Folded {
 public:
  Folded(std::string name, CollectiveOp op, int ranks)
      : ranks_(ranks),
        n_(static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)))),
        builder_(std::move(name), op, ranks, ranks),
        reduce_(op == CollectiveOp::reduce_scatter) {}

  int n() const { return n_; }
  void next_round() { builder_.next_round(); }

  /// A run of chunks from rank to rank, where it is not empty.
  void send(int from, int to, int first, int count) {
    if (count <= 0) { return; }
    Step step{.from = from, .to = to, .source = first, .target = first, .count = count};
    step.source_buffer = step.target_buffer = reduce_ ? Buffer::input : Buffer::output;
    step.reduce = reduce_;
    builder_.add(step);
  }

  /// The chunks of ranks first..first + count - 1, below n, and of those folded into them.
  void send_run(int from, int to, int first, int count) {
    send(from, to, first, count);
    send(from, to, first + n_, std::min(first + count, ranks_ - n_) - first);
  }

  /// A complete chunk takes the place of a part of the sum.
  void replace(int from, int to, int chunk) {
    Step step{.from = from, .to = to, .source = chunk, .target = chunk};
    step.source_buffer = step.target_buffer = reduce_ ? Buffer::input : Buffer::output;
    builder_.add(step);
  }

  CollectiveProgram program() && { return std::move(builder_).finish(); }

 private:
  int ranks_, n_;
  RoundsBuilder builder_;
  bool reduce_;
};

/// Steps that came into ranks or left them.
class History {
 public:
  explicit History(int ranks) : latest_(index(ranks)) {}

  void wait_for(int rank, int round, std::vector<StepId>& after) const {
    const Rank& r = latest_[index(rank)];
    const std::vector<StepId>& steps = r.round < round ? r.steps : r.before;
    after.insert(after.end(), steps.begin(), steps.end());
  }

  void add(int rank, int round, StepId step) {
    Rank& r = latest_[index(rank)];
    if (r.round < round) {
      r.before = std::exchange(r.steps, {});
      r.round = round;
    }
    r.steps.push_back(step);
  }

 private:
  struct Rank {
    int round = -1;                     // the last that it had a part in
    std::vector<StepId> steps, before;  // those of that round, and of the one before it
  };
  std::vector<Rank> latest_;
};

Step run_between(int from, int to, int chunk, int count, bool reduce) {
  Step step{.from = from, .to = to, .source = chunk, .target = chunk, .count = count};
  step.reduce = reduce;
  return step;
}

}  // namespace

CollectiveProgram RoundsBuilder::finish() && {
  const CollectiveProgram data = std::move(builder_).finish();
  CollectiveProgram program = data;
  program.first = {0};
  program.after.clear();
  History history(data.ranks);
  for (StepId i = 0; i < data.steps.size(); ++i) {
    const Step& step = data.steps[i];
    std::vector<StepId> after(dependencies(data, i).begin(), dependencies(data, i).end());
    if (step.from != step.to) {
      for (const int rank : {step.from, step.to}) { history.wait_for(rank, rounds_[i], after); }
      for (const int rank : {step.from, step.to}) { history.add(rank, rounds_[i], i); }
    }
    std::ranges::sort(after);
    after.erase(std::unique(after.begin(), after.end()), after.end());
    program.after.insert(program.after.end(), after.begin(), after.end());
    program.first.push_back(static_cast<std::uint32_t>(program.after.size()));
  }
  return program;
}

/// At every distance a rank keeps the half of its run in which its own chunk lies.
CollectiveProgram halving_doubling(CollectiveOp op, int ranks, int /*pieces*/) {
  const int n = static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)));
  RoundsBuilder builder("halving_doubling", op, ranks, n);
  for (int r = n; r < ranks; ++r) { builder.add(run_between(r, r - n, 0, n, true)); }
  for (int distance = n / 2; distance >= 1; distance /= 2) {
    builder.next_round();
    for (int r = 0; r < n; ++r) {
      const int partner = r ^ distance;
      builder.add(run_between(r, partner, partner / distance * distance, distance, true));
    }
  }
  for (int distance = 1; distance < n; distance *= 2) {
    builder.next_round();
    for (int r = 0; r < n; ++r) {
      builder.add(run_between(r, r ^ distance, r / distance * distance, distance, false));
    }
  }
  builder.next_round();
  for (int r = n; r < ranks; ++r) { builder.add(run_between(r - n, r, 0, n, false)); }
  return std::move(builder).finish();
}

CollectiveProgram bruck(CollectiveOp op, int n, int /*pieces*/) {
  RoundsBuilder builder("bruck", op, n, n);
  for (int reach = 1; reach < n; reach *= 2) {
    const int blocks = std::min(reach, n - reach);
    for (int r = 0; r < n; ++r) {
      const int head = std::min(blocks, n - r);  // the run may pass the last chunk
      const int to = (r + n - reach) % n;
      builder.add(run_between(r, to, r, head, false));
      if (blocks > head) { builder.add(run_between(r, to, 0, blocks - head, false)); }
    }
    builder.next_round();
  }
  return std::move(builder).finish();
}

CollectiveProgram halving(CollectiveOp op, int ranks, int /*pieces*/) {
  Folded f("halving", op, ranks);
  for (int r = f.n(); r < ranks; ++r) { f.send(r, r - f.n(), 0, ranks); }
  for (int distance = f.n() / 2; distance >= 1; distance /= 2) {
    f.next_round();
    for (int r = 0; r < f.n(); ++r) {
      const int to = r ^ distance;
      f.send_run(r, to, to / distance * distance, distance);
    }
  }
  f.next_round();
  for (int r = f.n(); r < ranks; ++r) { f.replace(r - f.n(), r, r); }
  return std::move(f).program();
}

CollectiveProgram doubling(CollectiveOp op, int ranks, int /*pieces*/) {
  Folded f("doubling", op, ranks);
  for (int r = f.n(); r < ranks; ++r) { f.send(r, r - f.n(), r, 1); }
  for (int distance = 1; distance < f.n(); distance *= 2) {
    f.next_round();
    for (int r = 0; r < f.n(); ++r) {
      f.send_run(r, r ^ distance, r / distance * distance, distance);
    }
  }
  f.next_round();
  for (int r = f.n(); r < ranks; ++r) {
    f.send(r - f.n(), r, 0, r);
    f.send(r - f.n(), r, r + 1, ranks - r - 1);
  }
  return std::move(f).program();
}

namespace {

struct Place {
  Buffer buffer = Buffer::input;
  int chunk = 0;
};

/// By rank and distance to go: where a block is before an all-to-all.
std::vector<std::vector<Place>> blocks_at_start(int n) {
  std::vector<std::vector<Place>> at(index(n), std::vector<Place>(index(n)));
  for (int r = 0; r < n; ++r) {
    for (int j = 0; j < n; ++j) { at[index(r)][index(j)] = {Buffer::input, (r + j) % n}; }
  }
  return at;
}

/// Blocks are known by how far they have to go in all. In round k those whose distance has bit k
/// set are put side by side, sent 2^k further in one message, and spread out again.
class BruckExchange {
 public:
  BruckExchange(CollectiveOp op, int n)
      : n_(n),
        rounds_(n > 1 ? static_cast<int>(std::bit_width(static_cast<unsigned>(n - 1))) : 0),
        builder_("bruck", op, n, n, 2 * rounds_ * n),
        at_(blocks_at_start(n)) {}

  CollectiveProgram program() && {
    for (int k = 0; k < rounds_; ++k) {
      for (int r = 0; r < n_; ++r) { send_on(r, k); }
      builder_.next_round();
    }
    for (int r = 0; r < n_; ++r) {
      for (int j = 0; j < n_; ++j) {
        move(r, r, at_[index(r)][index(j)], {Buffer::output, (r + n_ - j) % n_}, 1);
      }
    }
    return std::move(builder_).finish();
  }

 private:
  void send_on(int rank, int round) {
    const int packed = 2 * round * n_;
    const int arrived = packed + n_;
    int blocks = 0;
    for (int j = 0; j < n_; ++j) {
      if ((j >> round & 1) == 0) { continue; }
      Place& place = at_[index(rank)][index(j)];
      move(rank, rank, place, {Buffer::scratch, packed + blocks}, 1);
      place = {Buffer::scratch, arrived + blocks};
      ++blocks;
    }
    move(rank, (rank + (1 << round)) % n_, {Buffer::scratch, packed}, {Buffer::scratch, arrived},
         blocks);
  }

  void move(int from, int to, Place source, Place target, int count) {
    Step step{.from = from, .to = to, .source = source.chunk, .target = target.chunk};
    step.count = count;
    step.source_buffer = source.buffer;
    step.target_buffer = target.buffer;
    builder_.add(step);
  }

  int n_, rounds_;
  RoundsBuilder builder_;
  std::vector<std::vector<Place>> at_;  // by rank and distance: where the block is
};

}  // namespace

CollectiveProgram bruck_exchange(CollectiveOp op, int n, int /*pieces*/) {
  return BruckExchange(op, n).program();
}

/// Broadcast or reduce: from the root to each, or from each to it.
CollectiveProgram star_of_all(CollectiveOp op, int n, int /*pieces*/) {
  ProgramBuilder builder("direct", op, n, 1);
  const bool reduce = op == CollectiveOp::reduce;
  for (int r = 1; r < n; ++r) {
    Step step{.from = reduce ? r : 0, .to = reduce ? 0 : r};
    step.reduce = reduce;
    builder.add(step);
  }
  return std::move(builder).finish();
}

CollectiveProgram reduce_broadcast(CollectiveOp op, int n, int pieces) {
  return one_after_the_other(op, expand(CollectiveOp::reduce, "tree", n, pieces),
                             expand(CollectiveOp::broadcast, "tree", n, pieces));
}

CollectiveProgram one_after_the_other(CollectiveOp op, const CollectiveProgram& first,
                                      const CollectiveProgram& second) {
  CollectiveProgram program = first;
  program.name = first.name + ", " + second.name;
  program.op = op;
  std::vector<bool> is_last(first.steps.size(), true);
  for (const StepId before : first.after) { is_last[before] = false; }
  const auto shift = static_cast<StepId>(first.steps.size());
  for (StepId i = 0; i < second.steps.size(); ++i) {
    program.steps.push_back(second.steps[i]);
    for (const StepId before : dependencies(second, i)) { program.after.push_back(before + shift); }
    if (dependencies(second, i).empty()) {
      for (StepId k = 0; k < shift; ++k) {
        if (is_last[k]) { program.after.push_back(k); }
      }
    }
    program.first.push_back(static_cast<std::uint32_t>(program.after.size()));
  }
  return program;
}

}  // namespace tsim::cost
