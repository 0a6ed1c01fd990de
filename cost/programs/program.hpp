// A collective step by step: which chunk goes from whom to whom, after what.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cost/topology.hpp"

namespace tsim::cost {

/// A rank's buffers. In a program that works in place, input and output are one memory: the input
/// of an all-gather or gather is the rank's part of its output, the output of a reduce-scatter or
/// scatter the rank's part of its input.
enum class Buffer : std::uint8_t { input, output, scratch };
std::string_view name_of(Buffer buffer);

using StepId = std::uint32_t;

/// `count` neighbouring chunks go from one rank to another (or move within one), and are added to
/// what lies there or take its place. Steps of one connection (from, to, channel) go over the wires
/// one after the other, though the next may leave before the one before has arrived.
struct Step {
  std::int32_t from = 0, to = 0;                   // ranks
  std::int32_t source = 0, target = 0, count = 1;  // chunks
  Buffer source_buffer = Buffer::output, target_buffer = Buffer::output;
  bool reduce = false;
  std::uint8_t channel = 0;
  bool operator==(const Step&) const = default;
};

/// The whole buffer (S of the nccl-tests convention) has `chunks` equal chunks. A rank's input is
/// all of it, but for an all-gather and a gather chunks / ranks; its output is all of it, but for a
/// reduce-scatter and a scatter chunks / ranks. Rooted collectives have root 0.
struct CollectiveProgram {
  std::string name;
  CollectiveOp op{};
  int ranks = 1;
  int chunks = 1;
  int scratch = 0;  // chunks of scratch space of every rank
  bool in_place = true;
  std::vector<Step> steps;
  std::vector<std::uint32_t> first;  // compressed rows: steps that step i waits for are
  std::vector<StepId> after;         // after[first[i] .. first[i + 1])
};

inline std::span<const StepId> dependencies(const CollectiveProgram& p, StepId step) {
  return {p.after.data() + p.first[step], p.after.data() + p.first[step + 1]};
}

/// Number of the chunk in the one memory of a rank that a place lies in: input and output overlap
/// where the program works in place, scratch comes last.
int memory_chunk(const CollectiveProgram& program, int rank, Buffer buffer, int chunk);
/// Chunks of a rank's memory.
int memory_size(const CollectiveProgram& program);

/// Takes steps in an order in which they could run one by one, and finds what each waits for: what
/// reads wait for writes and sums, what writes wait for all before. Sums into one place wait for
/// nothing but what it was read and written by before the first of them, since their order is free.
class ProgramBuilder {
 public:
  /// `scratch`: chunks of scratch space.
  ProgramBuilder(std::string name, CollectiveOp op, int ranks, int chunks, int scratch = 0);
  /// Input and output of every rank are apart from now on. Before the first step.
  void keep_input();
  void add(const Step& step);
  CollectiveProgram finish() &&;

 private:
  static constexpr std::uint32_t kNone = 0xffffffffU;
  enum class Use : std::uint8_t { none, read, sum, write };
  /// Steps that use a place in the same way since its use last changed, and those before them.
  struct Place {
    std::uint32_t users = kNone, before = kNone;  // heads of lists in users_
    Use use = Use::none;
  };
  struct User {
    StepId step = kNone;
    std::uint32_t next = kNone;
  };
  Place& place(int rank, Buffer buffer, int chunk);
  void touch(Place& place, Use use, StepId step);

  CollectiveProgram program_;
  std::vector<Place> places_;
  std::vector<User> users_;
};

/// Steps each of which waits for the next one, and the last for the first; empty when every step
/// can run. The program's dependencies exist.
std::vector<StepId> circle(const CollectiveProgram& program);
/// "steps wait for each other: 3 for 7, 7 for 3".
std::string describe_circle(std::span<const StepId> steps);

/// What is wrong with a program: a step or dependency that does not exist, steps that wait for each
/// other in a circle, a chunk that is read before it is there or added twice, or the first chunk
/// that does not end up as the collective demands. None when it implements its collective. Runs
/// the steps twice, in different orders that the dependencies allow.
std::optional<std::string> fault(const CollectiveProgram& program);

/// Time when every step takes its path's latency and its bytes over the slowest link, and only
/// steps of one connection share wires: a lower bound, exact where no two connections use a link at
/// once. Steps come after all that they wait for, as those of a builder do.
Seconds critical_path(const CollectiveProgram& program, std::span<const int> devices, Bytes payload,
                      Router& router);

}  // namespace tsim::cost
