// Internals of build_tasks: slots of simulated ranks and the tables that stamping fills.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "strategies/build_tasks.hpp"
#include "strategies/comm_table.hpp"
#include "strategies/layout.hpp"

namespace tsim::strategies {

/// Tasks of one step on one replica: one per simulated tensor slot, or one for the whole group.
struct StepTasks {
  TaskId base = kNoTask;
  bool shared = false;  // one task for all slots
  TaskId at(int slot) const { return shared ? base : base + static_cast<TaskId>(slot); }
};

/// Where a stamped phase begins and ends.
struct Stamped {
  StepTasks entry;
  std::vector<StepTasks> exits;
};

/// A phase of one chunk on one replica with its costs resolved to indices in the graph.
struct ResolvedProgram {
  const Program* program = nullptr;
  std::vector<std::uint32_t> work;     // by step
  std::vector<std::uint32_t> effects;  // by step
};

/// Phases of a chunk that a schedule can ask for.
enum class Which : std::uint8_t { forward, backward, last_backward };

class TaskBuilder {
 public:
  explicit TaskBuilder(const BuildInput& input);
  TaskGraph build() &&;

 private:
  // task_builder.cpp: ranks and phases
  void make_ranks();
  void resolve();
  ResolvedProgram resolve_program(int stage, int data, int chunk, Which which);
  void add_effects(ResolvedProgram& resolved, const ChunkPlan& chunk, Which which);
  std::uint32_t effect(MemoryEffect e);
  void run_schedule(int stage, int data);
  Stamped stamp(const ResolvedProgram& resolved, int stage, int data, const Action& action);
  StepTasks add_step(const ResolvedProgram& resolved, std::size_t step, int replica,
                     const Action& action);
  void chain(const std::vector<StepTasks>& before, const StepTasks& after);
  Which which_phase(const Action& action, std::vector<int>& backwards_left) const;
  void note_buckets(const Program& program, TaskId first, int stage, std::size_t& next_bucket);
  // task_builder_comms.cpp: what crosses ranks
  std::uint32_t tensor_comm(const Step& step, int stage, int data);
  void send(const Stamped& from, int stage, int data, const Action& action);
  void connect_sends();
  void reduce_gradients(int stage);
  void reduce_embedding();
  void reduce_embedding_of(const std::vector<int>& stages, int data, int tensor);
  void gather_parameters(int stage, int tensor, const std::vector<TaskId>& steps);
  void after_last_phase(int stage, int data, int tensor, TaskId task);
  std::vector<std::uint32_t> replica_slots(int stage, int tensor) const;
  void step_optimizer(int stage);
  std::uint32_t group(std::vector<std::uint32_t> slots);

  /// Kinds of device that are told apart; each has its own entry in the graph's computes.
  std::size_t kinds() const { return std::max<std::size_t>(1, input_.kinds.size()); }
  std::uint32_t kind_of(int stage, int data, int tensor) const;
  const StagePlan& plan_on(std::size_t kind, int stage) const;
  Bytes reserved_on(std::uint32_t kind) const;

  int slot(int stage, int data, int tensor) const {
    return (stage * data_ + data) * tensor_ + tensor;
  }
  int part(int stage, int chunk) const { return chunk * strategy_.pipeline + stage; }
  std::size_t message(int at_part, int data, int micro_batch) const {
    return (static_cast<std::size_t>(at_part) * static_cast<std::size_t>(data_) +
            static_cast<std::size_t>(data)) *
               static_cast<std::size_t>(input_.micro_batches) +
           static_cast<std::size_t>(micro_batch);
  }

  const BuildInput& input_;
  const Strategy& strategy_;
  Layout layout_;
  int data_, tensor_;  // simulated replicas and tensor slots
  int parts_;
  CommTable table_;
  TaskGraphBuilder builder_;
  std::map<std::vector<std::uint32_t>, std::uint32_t> group_index_;
  std::map<std::tuple<int, Which, std::size_t>, std::uint32_t> compute_index_;  // by part
  std::vector<std::uint32_t> tensor_group_;               // by stage and replica
  std::vector<std::array<ResolvedProgram, 3>> resolved_;  // by part and replica
  std::vector<std::vector<StepTasks>> last_exits_;        // by stage and replica
  std::array<std::vector<TaskId>, 2> last_send_;          // by direction and slot
  std::array<std::vector<StepTasks>, 2> entries_;         // by direction and message
  std::array<std::vector<TaskId>, 2> sends_;              // by direction and message (receiver)
  /// Buckets of a stage in the order they fill: their elements and, by replica, the step's tasks.
  struct Bucket {
    std::int64_t elements = 0;
    std::vector<StepTasks> ready;
  };
  void reduce_bucket(const Bucket& bucket, int stage, int tensor);
  std::vector<std::vector<Bucket>> buckets_;  // by stage
  std::vector<TaskId> last_sync_;             // by slot: last gradient communication
  std::vector<TaskId> embedding_sync_;        // by slot
};

}  // namespace tsim::strategies
