// What every rank does, as tasks and the order between them. No clock here.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cost/collectives.hpp"
#include "cost/topology.hpp"
#include "models/units.hpp"

namespace tsim::strategies {

using TaskId = std::uint32_t;
inline constexpr TaskId kNoTask = 0xffffffffu;
inline constexpr std::uint32_t kNone = 0xffffffffu;

enum class Phase : std::uint8_t {
  forward,
  recompute,
  backward,     // of inputs and weights
  input_grad,   // the part of it that goes back through the pipeline
  weight_grad,  // the part that can wait
  optimizer,
  gradient_sync,
  parameter_sync,
  transfer
};
std::string_view name_of(Phase phase);

/// Queues of a rank: one for compute, one per kind of communicator, two for copies; and, on its
/// host, one for the processors and two for the drives.
enum class Stream : std::uint8_t {
  compute,
  tp,
  dp,
  pp,
  cp,
  ep,
  copy_in,
  copy_out,
  host,
  drive_in,
  drive_out
};
std::string_view name_of(Stream stream);

/// Memory classes of a report, in the order it prints them.
enum class MemoryClass : std::uint8_t {
  parameters,
  gradients,
  optimizer,
  activations,
  logits,
  buffers,
  workspace,
  reserved
};
inline constexpr int kMemoryClasses = 8;
std::string_view name_of(MemoryClass c);

/// What a task allocates when it starts and frees when it ends, on its rank.
struct MemoryChange {
  MemoryClass cls{};
  Bytes at_start;  // usually >= 0
  Bytes at_end;    // usually <= 0
};
/// A task's changes; shared by all tasks with the same ones.
using MemoryEffect = std::vector<MemoryChange>;

/// Bytes that flow over channels, all at once; the slowest channel sets the pace.
struct Flow {
  std::vector<cost::ChannelId> channels;
  double bytes = 0;  // not whole: an aggregated ring hop carries 2(n-1)/n of the buffer
};

/// One communication: after `latency`, all flows start; it ends when the last one ends. Flows of
/// symmetric copies that are folded into this one are listed too where they share its channels.
struct Comm {
  std::string label;      // "tp all-reduce, stage 3"
  std::string algorithm;  // "ring"
  Stream stream{};
  std::int32_t ranks = 0;  // members of the group
  Bytes payload;           // the collective's buffer, or the message
  Seconds latency;         // all alpha terms
  std::vector<Flow> flows;
  std::uint32_t own_flows = 0;  // the first of `flows`, those of this group; the others are copies'
  std::int32_t copies = 1;      // groups like it that it stands for
  cost::CollectiveOp op{};   // what it is, on which devices (rank i of the group on devices[i]) and
  std::vector<int> devices;  // at which costs, for a run of its steps one by one
  cost::StepCosts costs{};
};

enum class TaskKind : std::uint8_t { compute, comm };

/// One task. `members` of a communication are ranks; of a computation the one rank it runs on.
struct Task {
  std::uint32_t work = 0;   // compute: index in TaskGraph::computes; comm: in TaskGraph::comms
  std::uint32_t place = 0;  // compute: the rank; comm: index in TaskGraph::groups
  std::int32_t micro_batch = -1;  // -1: belongs to none
  std::uint32_t effect = kNone;   // index in TaskGraph::effects, on the rank of a compute task
  std::int16_t chunk = 0;         // pipeline chunk on its stage
  TaskKind kind{};
  Phase phase{};
  Stream stream{};
  bool operator==(const Task&) const = default;
};

/// A computation's work, shared by all tasks that do the same.
struct Compute {
  std::string label;  // "layers 4-7 forward"
  Seconds duration;   // of the kernels on the device
  Flops model_flops;  // as papers count
  Flops hardware_flops;
  Seconds host{};           // the host's time to launch them: it runs ahead of the device
  bool host_waits = false;  // not here: it begins when the device has done all before
};

/// A simulated rank. With symmetric ranks folded it stands for `copies` of them.
struct Rank {
  std::int32_t global = 0;  // the first global rank that it stands for
  std::int32_t device = 0;  // where that one sits
  std::int32_t stage = 0;   // pipeline stage
  std::int32_t copies = 1;
  std::vector<MemoryChange> resident;  // at_start: held during the whole iteration
  double slowdown = 1.0;               // its computations last so many times as long
  Seconds host_collective{};           // its host's time to issue a communication
  double overlap_slowdown = 0.0;       // computations beside a communication last 1 + this as long
  bool host_awaits_messages = false;   // its host launches nothing until a message has arrived
};

/// Compressed sparse rows: the successors of task t are successor[first[t] .. first[t+1]).
/// Every stream of a rank is first in, first out: the builder adds an edge between tasks that
/// follow each other on one, so that a task may start exactly when its predecessors have ended.
struct TaskGraph {
  std::vector<Task> tasks;
  std::vector<std::uint32_t> first;  // tasks.size() + 1 entries
  std::vector<TaskId> successor;
  std::vector<std::uint32_t> in_degree;
  std::vector<Compute> computes;
  std::vector<Comm> comms;
  std::vector<MemoryEffect> effects;
  std::vector<std::vector<std::uint32_t>> groups;  // simulated ranks of a communication's members
  std::vector<Rank> ranks;
};

inline std::span<const TaskId> successors(const TaskGraph& g, TaskId t) {
  return {g.successor.data() + g.first[t], g.successor.data() + g.first[t + 1]};
}

/// How long a compute task lasts on its rank.
inline Seconds compute_duration(const TaskGraph& g, const Task& task) {
  return g.ranks[task.place].slowdown * g.computes[task.work].duration;
}

/// Collects tasks and edges, then lays them out.
class TaskGraphBuilder {
 public:
  TaskGraph graph;  // tasks, computes, comms, effects, groups and ranks are filled directly
  TaskId add(const Task& task);
  /// `after` starts only when `before` has ended. Either may be kNoTask: then nothing is added.
  void edge(TaskId before, TaskId after);
  /// Sorts the edges into rows (duplicates kept once) and counts predecessors.
  TaskGraph finish() &&;

 private:
  std::vector<std::pair<TaskId, TaskId>> edges_;
};

}  // namespace tsim::strategies
