// Whether a program implements its collective: runs it on sets of contributions.
#include <algorithm>
#include <queue>
#include <string>

#include "cost/programs/program.hpp"

namespace tsim::cost {
namespace {

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Which chunk of the buffer a place holds, and whose contributions are in it; chunk -1: nothing
/// has been put there.
struct Value {
  int chunk = -1;
  std::vector<bool> from;
  bool operator==(const Value&) const = default;
};

/// "chunk 3 of ranks 0-2, 5".
std::string describe(const Value& value) {
  if (value.chunk < 0) { return "nothing"; }
  std::string ranks;
  const int n = static_cast<int>(value.from.size());
  for (int i = 0; i < n; ++i) {
    if (!value.from[index(i)]) { continue; }
    int last = i;
    while (last + 1 < n && value.from[index(last + 1)]) { ++last; }
    if (!ranks.empty()) { ranks += ", "; }
    ranks += std::to_string(i);
    if (last > i) { ranks.append("-").append(std::to_string(last)); }
    i = last;
  }
  return "chunk " + std::to_string(value.chunk) + " of ranks " + ranks;
}

std::string describe(int rank, Buffer buffer, int chunk) {
  return "rank " + std::to_string(rank) + ", " + std::string(name_of(buffer)) + " chunk " +
         std::to_string(chunk);
}

/// Adds a value to another one; returns what speaks against it.
std::optional<std::string> add(const Value& value, Value& target) {
  if (target.chunk < 0) { return "nothing has been put there yet"; }
  if (target.chunk != value.chunk) { return describe(value) + " to " + describe(target); }
  for (std::size_t r = 0; r < value.from.size(); ++r) {
    if (!value.from[r]) { continue; }
    if (target.from[r]) { return "what rank " + std::to_string(r) + " gave, a second time"; }
    target.from[r] = true;
  }
  return std::nullopt;
}

/// The memories of all ranks.
class Machine {
 public:
  explicit Machine(const CollectiveProgram& p) : p_(p), part_(p.chunks / p.ranks) {
    memory_.resize(index(p.ranks) * index(memory_size(p)));
    for (int rank = 0; rank < p.ranks; ++rank) {
      const bool rooted = p.op == CollectiveOp::broadcast || p.op == CollectiveOp::scatter;
      if (rooted && rank != 0) { continue; }
      const bool part = p.op == CollectiveOp::all_gather || p.op == CollectiveOp::gather;
      for (int c = 0; c < (part ? part_ : p.chunks); ++c) {
        at(rank, Buffer::input, c) = {part ? rank * part_ + c : c, only(rank)};
      }
    }
  }

  /// Runs one step; returns what is wrong with it.
  std::optional<std::string> run(StepId id) {
    const Step& s = p_.steps[id];
    std::vector<Value> moved;
    for (int i = 0; i < s.count; ++i) {
      moved.push_back(at(s.from, s.source_buffer, s.source + i));
      if (moved.back().chunk < 0) {
        return "step " + std::to_string(id) + " reads " +
               describe(s.from, s.source_buffer, s.source + i) + ", where nothing has been put yet";
      }
    }
    for (int i = 0; i < s.count; ++i) {
      Value& target = at(s.to, s.target_buffer, s.target + i);
      if (!s.reduce) {
        target = moved[index(i)];
      } else if (const auto wrong = add(moved[index(i)], target)) {
        return "step " + std::to_string(id) + " adds to " +
               describe(s.to, s.target_buffer, s.target + i) + ": " + *wrong;
      }
    }
    return std::nullopt;
  }

  /// The first output that is not what the collective demands.
  std::optional<std::string> wrong_output() {
    const bool rooted = p_.op == CollectiveOp::reduce || p_.op == CollectiveOp::gather;
    const bool part = p_.op == CollectiveOp::reduce_scatter || p_.op == CollectiveOp::scatter;
    for (int rank = 0; rank < (rooted ? 1 : p_.ranks); ++rank) {
      for (int c = 0; c < (part ? part_ : p_.chunks); ++c) {
        const Value& found = at(rank, Buffer::output, c);
        const Value wanted = demanded(rank, c);
        if (found == wanted) { continue; }
        return describe(rank, Buffer::output, c) + " holds " + describe(found) + ", expected " +
               describe(wanted);
      }
    }
    return std::nullopt;
  }

 private:
  Value& at(int rank, Buffer buffer, int chunk) {
    return memory_[index(rank) * index(memory_size(p_)) +
                   index(memory_chunk(p_, rank, buffer, chunk))];
  }

  std::vector<bool> only(int rank) const {
    std::vector<bool> from(index(p_.ranks), false);
    from[index(rank)] = true;
    return from;
  }

  Value demanded(int rank, int c) const {
    const std::vector<bool> all(index(p_.ranks), true);
    switch (p_.op) {
      case CollectiveOp::all_reduce:
      case CollectiveOp::reduce: return {c, all};
      case CollectiveOp::reduce_scatter: return {rank * part_ + c, all};
      case CollectiveOp::all_gather:
      case CollectiveOp::gather: return {c, only(c / part_)};
      case CollectiveOp::all_to_all: return {rank * part_ + c % part_, only(c / part_)};
      case CollectiveOp::scatter: return {rank * part_ + c, only(0)};
      default: return {c, only(0)};
    }
  }

  const CollectiveProgram& p_;
  int part_;
  std::vector<Value> memory_;
};

bool divides_among_ranks(CollectiveOp op) {
  return op != CollectiveOp::all_reduce && op != CollectiveOp::broadcast &&
         op != CollectiveOp::reduce;
}

/// Whether `count` chunks from a place on lie outside the buffer or the memory.
bool outside(const CollectiveProgram& p, int rank, Buffer buffer, std::int64_t chunk, int count) {
  if (rank < 0 || rank >= p.ranks || chunk < 0 || count < 1) { return true; }
  const std::int64_t size = buffer == Buffer::scratch ? p.scratch : p.chunks;
  return chunk + count > size ||
         memory_chunk(p, rank, buffer, static_cast<int>(chunk) + count - 1) >= memory_size(p);
}

/// A step or dependency that does not exist.
std::optional<std::string> bad_reference(const CollectiveProgram& p) {
  if (p.ranks < 1 || p.chunks < 1 || (divides_among_ranks(p.op) && p.chunks % p.ranks != 0)) {
    return std::to_string(p.chunks) + " chunks for " + std::to_string(p.ranks) + " ranks";
  }
  for (std::size_t i = 0; i < p.steps.size(); ++i) {
    const Step& s = p.steps[i];
    if (outside(p, s.from, s.source_buffer, s.source, s.count) ||
        outside(p, s.to, s.target_buffer, s.target, s.count)) {
      return "step " + std::to_string(i) + ": a rank or chunk that there is not";
    }
  }
  const bool rows = p.first.size() == p.steps.size() + 1 && p.first.front() == 0 &&
                    p.first.back() == p.after.size() &&
                    std::is_sorted(p.first.begin(), p.first.end());
  const bool exist =
      std::all_of(p.after.begin(), p.after.end(), [&](StepId id) { return id < p.steps.size(); });
  if (!rows || !exist) { return "a dependency on a step that there is not"; }
  return std::nullopt;
}

/// An order that the dependencies allow, with the lowest (or highest) step that is free next. There
/// is no circle.
std::vector<StepId> order(const CollectiveProgram& p, bool lowest) {
  std::vector<std::uint32_t> waits(p.steps.size(), 0), begin(p.steps.size() + 1, 0);
  for (const StepId before : p.after) { ++begin[before + 1]; }
  for (std::size_t i = 1; i < begin.size(); ++i) { begin[i] += begin[i - 1]; }
  std::vector<StepId> successor(p.after.size());
  std::vector<std::uint32_t> next(begin.begin(), begin.end() - 1);
  std::priority_queue<std::int64_t> free;
  const std::int64_t sign = lowest ? -1 : 1;
  for (StepId i = 0; i < p.steps.size(); ++i) {
    waits[i] = p.first[i + 1] - p.first[i];
    for (const StepId before : dependencies(p, i)) { successor[next[before]++] = i; }
    if (waits[i] == 0) { free.push(sign * std::int64_t{i}); }
  }
  std::vector<StepId> result;
  while (!free.empty()) {
    const auto step = static_cast<StepId>(sign * free.top());
    free.pop();
    result.push_back(step);
    for (std::uint32_t k = begin[step]; k < begin[step + 1]; ++k) {
      if (--waits[successor[k]] == 0) { free.push(sign * std::int64_t{successor[k]}); }
    }
  }
  return result;
}

}  // namespace

std::optional<std::string> fault(const CollectiveProgram& p) {
  if (auto bad = bad_reference(p)) { return bad; }
  if (const auto steps = circle(p); !steps.empty()) { return describe_circle(steps); }
  for (const bool lowest : {true, false}) {
    const std::vector<StepId> sequence = order(p, lowest);
    Machine machine(p);
    for (const StepId step : sequence) {
      if (auto wrong = machine.run(step)) { return wrong; }
    }
    if (auto wrong = machine.wrong_output()) { return wrong; }
  }
  return std::nullopt;
}

}  // namespace tsim::cost
