// Internals of build_tasks: slots of simulated ranks and the tables that stamping fills.
#pragma once

#include <algorithm>
#include <array>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "strategies/build_tasks.hpp"
#include "strategies/comm_table.hpp"
#include "strategies/layout.hpp"
#include "strategies/phase_memory.hpp"

namespace tsim::strategies {

/// Tasks of one step on one replica: one for each group of simulated tensor slots, by its number.
struct StepTasks {
  TaskId base = kNoTask;
  RankGroup slots{GroupAxis::tensor};  // by default each slot has its own
  TaskId at(int slot) const { return base + static_cast<TaskId>(group_of(slots, slot)); }
};

/// Where a stamped phase begins and ends.
struct Stamped {
  StepTasks entry;
  std::vector<StepTasks> exits;
};

/// A step on one replica with its costs resolved to indices in the graph.
struct ResolvedStep {
  std::vector<std::uint32_t> work;   // by group of tensor slots; one entry of a computation
  std::vector<std::uint32_t> group;  // the same: members of a communication
  std::uint32_t effect = kNone;
  RankGroup slots{GroupAxis::tensor};  // which share a task
  int leader = -1;  // >= 0: the task is shared with other replicas, of which this is the first
};

/// A phase of one chunk on one replica.
struct ResolvedProgram {
  const Program* program = nullptr;
  std::vector<ResolvedStep> steps;
};

/// Of all chunks: what the optimizer frees.
Bytes made_gradients(const StagePlan& plan);

/// "gradients to host".
std::string copy_text(const Communication& copy, Phase phase);

class TaskBuilder {
 public:
  explicit TaskBuilder(const BuildInput& input);
  TaskGraph build() &&;

 private:
  // task_builder.cpp: ranks and programs; task_builder_order.cpp: phases in order;
  // task_builder_pairs.cpp: two phases at once
  void make_ranks();
  void resolve();
  ResolvedProgram resolve_program(Seat seat, int replica, Which which, int slice);
  std::uint32_t effect(MemoryEffect e);
  std::uint32_t free_gradients(const StagePlan& plan);
  std::uint32_t compute_of(Seat place, Which which, int slice, std::size_t step);
  void run_schedule(int stage, int replica);
  void run_actions(std::span<const Action> actions, int stage, int replica);
  void block(const Action& action, const StepTasks& entry, const std::vector<StepTasks>& before,
             int stage, int replica);
  Stamped stamp(const ResolvedProgram& resolved, int stage, int replica, const Action& action);
  std::vector<Stamped> stamp_each(std::span<const Action> actions, int stage, int replica);
  std::vector<Stamped> stamp_woven(std::span<const Action> pair, int stage, int replica);
  StepTasks add_step(const ResolvedProgram& resolved, std::size_t step, int row,
                     const Action& action);
  StepTasks add_comm(const ResolvedStep& resolved, Task task, int row);
  void follow(const StepTasks& tasks, Phase phase, Stream stream, int row);
  void chain(const std::vector<StepTasks>& before, const StepTasks& after);
  Which which_phase(const Action& action);
  void note_buckets(const Program& program, Seat seat);
  void step_now(int stage, int replica);
  // task_builder_comms.cpp: what crosses ranks
  ResolvedStep resolve_comm(const Step& step, int stage, int replica);
  std::vector<std::uint32_t> slots_of(int stage, const std::vector<int>& replicas,
                                      const std::vector<int>& tensors) const;
  GroupCopies copies_of(const Communication& c, const Place& place) const;
  std::vector<int> peer_stages(Stream way, int stage) const;
  void follow_swap(const Step& step, const StepTasks& tasks, int row, const Action& action);
  int most_in_flight(int stage) const;
  Bytes kept_for_others(int stage) const;
  void send(const Stamped& from, int stage, int replica, const Action& action);
  struct Hop {
    Seat from, to;
  };
  void send_to(const Stamped& from, const Hop& hop, int replica, const Action& action);
  Bytes message_size(int stage, const Action& action) const;
  void connect_sends();
  void connect_send(TaskId sent, std::size_t direction, std::size_t message);
  void reduce_gradients(int stage);
  void merge_buckets(int stage);
  void reduce_shared(int stage);
  void reduce_shared(const Step& step, int stage, int replica);
  void reduce_embedding();
  void add_norm();
  void add_norm(int replica, bool together);
  void reduce_embedding_of(const std::vector<int>& stages, int replica, int tensor);
  void gather_parameters(int stage, int tensor);
  void gather_stepped(std::uint32_t comm, const std::vector<std::uint32_t>& slots);
  void gather_shards(int stage, int tensor, const RankGroup& group, Bytes size);
  void after_last_phase(int stage, int replica, int tensor, TaskId task);
  std::vector<std::uint32_t> replica_slots(int stage, int tensor) const;
  GroupCopies holders(int stage, int tensor) const;
  void step_optimizer(int stage);
  // task_builder_host.cpp: what the host does
  struct HostPiece {
    TaskId gradient = kNoTask;  // its copy to the host
    std::int64_t elements = 0;  // of all shards
  };
  struct HostQueue {
    Place place;
    TaskId stepped = kNoTask;                                  // the piece before
    std::array<TaskId, 3> written{kNoTask, kNoTask, kNoTask};  // of the pieces before, in turn
  };
  void note_gradients(const StepTasks& copies, std::int64_t elements, int row);
  TaskId step_on_host(int stage, int replica, int tensor);
  TaskId step_piece(const HostPiece& piece, std::size_t number, HostQueue& queue);
  TaskId host_step_task(std::int64_t elements, const Place& place,
                        std::initializer_list<TaskId> before);
  TaskId host_copy_task(const Communication& copy, const Place& place, Phase phase);
  std::uint32_t host_work(std::int64_t elements, int rank);
  std::uint32_t group(std::vector<std::uint32_t> slots);

  /// Kinds of device that are told apart; each has its own entry in the graph's computes.
  std::size_t kinds() const { return std::max<std::size_t>(1, input_.kinds.size()); }
  std::uint32_t kind_of(int stage, int replica, int tensor) const;
  const StagePlan& plan_on(std::size_t kind, int stage) const;
  const RankCosts& costs_on(std::uint32_t kind) const;
  int slices() const { return std::max(1, static_cast<int>(input_.slices.size())); }
  /// What a phase of a slice is planned as.
  const ChunkPlan& chunk_of(Seat seat, int slice) const;
  ResolvedProgram& program_at(Seat at, int replica, int slice, Which which) {
    const int row = (seat(at) * replicas_ + replica) * slices() + slice;
    return resolved_[static_cast<std::size_t>(row)][static_cast<std::size_t>(which)];
  }

  int slot(int stage, int replica, int tensor) const {
    return (stage * replicas_ + replica) * tensor_ + tensor;
  }
  int seat(Seat s) const { return seat_index(shape_, s); }
  std::size_t message(Seat at, int replica, int micro_batch) const {
    return (static_cast<std::size_t>(seat(at)) * static_cast<std::size_t>(replicas_) +
            static_cast<std::size_t>(replica)) *
               static_cast<std::size_t>(input_.micro_batches) +
           static_cast<std::size_t>(micro_batch);
  }

  const BuildInput& input_;
  const Strategy& strategy_;
  Layout layout_;
  int replicas_, tensor_;  // simulated replicas and tensor slots
  PipelineShape shape_;
  PipelineOrder order_;  // by stage
  bool meets_;           // blocking messages wait for their receiver, too
  CommTable table_;
  TaskGraphBuilder builder_;
  std::map<std::vector<std::uint32_t>, std::uint32_t> group_index_;
  /// By seat and slice, phase and step.
  std::map<std::tuple<int, Which, std::size_t>, std::uint32_t> compute_index_;
  std::vector<std::array<ResolvedProgram, kWhiches>> resolved_;  // by seat, replica and slice
  std::vector<std::vector<StepTasks>> last_exits_;               // by stage and replica
  std::array<std::vector<TaskId>, 2> last_send_;                 // by direction and slot
  std::array<std::vector<StepTasks>, 2> entries_;                // by direction and message
  std::array<std::vector<TaskId>, 2> sends_;  // by direction and message (receiver)
  /// What a blocking exchange holds up: by direction and message, what the receiver ends before it;
  /// by stage and replica, messages that the next phase waits for.
  std::array<std::vector<std::vector<StepTasks>>, 2> before_entry_;
  std::vector<std::vector<TaskId>> blocking_;
  /// Buckets of a stage in the order they fill: their elements and, by replica, the step's tasks.
  struct Bucket {
    int chunk = 0;
    std::int64_t elements = 0;
    std::vector<StepTasks> ready;  // of a part that two stages hold, the second one's last
    std::vector<StepTasks> step;   // by replica: optimizer steps that wait for it alone
    bool of_experts = false;
  };
  void reduce_bucket(const Bucket& bucket, int stage, int tensor);
  // task_builder_experts.cpp: ranks that hold copies of the same experts
  struct ExpertCopies {
    std::vector<int> replicas, tensors;  // simulated ones of the group
    GroupCopies devices;                 // of all holders
    int number = 0;                      // of the group on its stage
  };
  std::vector<ExpertCopies> expert_copies_of(int stage) const;
  void reduce_expert_bucket(const Bucket& bucket, int stage);
  void gather_experts(int stage);
  std::vector<std::vector<Bucket>> buckets_;  // by stage
  std::vector<int> backwards_left_;           // of the stage and replica at hand, by chunk
  std::vector<char> forwards_begun_;          // the same
  std::vector<char> backwards_begun_;         // the same
  std::size_t next_bucket_ = 0;               // the same
  std::size_t first_of_step_ = 0;             // the same: of the optimizer step to come
  std::vector<StepTasks> stamped_;            // of the program stamped last, by step
  /// Communications between replicas, in each stream one after another: by stream and slot, the
  /// last one. Replicas run the same programs, so that their n-th communications are the same: by
  /// stage and replica, all of them so far.
  std::map<Stream, std::vector<TaskId>> last_in_stream_;
  std::vector<std::vector<StepTasks>> joined_;
  std::vector<TaskId> last_sync_;       // by slot: last gradient communication
  std::vector<TaskId> embedding_sync_;  // by slot
  std::vector<TaskId> optimizer_step_;  // by slot
  /// Activations on their way out: by row, chunk, micro-batch and block.
  std::map<std::array<int, 4>, StepTasks> swapped_out_;
  std::vector<std::vector<HostPiece>> host_pieces_;                      // by slot
  std::map<std::pair<std::int64_t, int>, std::uint32_t> steps_on_host_;  // by elements and node
  std::map<std::pair<Stream, std::uint32_t>, TaskId> last_host_task_;    // by slot: in its queue
};

}  // namespace tsim::strategies
