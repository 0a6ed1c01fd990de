// The optimizer on the host: piece by piece, between the copies of gradients and weights.
#include <algorithm>
#include <array>

#include "strategies/memory.hpp"
#include "strategies/task_builder.hpp"

namespace tsim::strategies {
namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }

std::int64_t part(std::int64_t elements, std::int64_t shards) {
  return (elements + shards - 1) / shards;
}

}  // namespace

std::string copy_text(const Communication& copy, Phase phase) {
  const bool in = copy.stream == Stream::copy_in || copy.stream == Stream::drive_in;
  std::string what = "activations";
  if (phase == Phase::gradient_sync) { what = "gradients"; }
  if (phase == Phase::parameter_sync) { what = "parameters"; }
  if (phase == Phase::optimizer) { what = "states"; }
  std::string place = "drives";
  if (copy.group.axis == GroupAxis::host_memory) { place = "host"; }
  if (copy.group.axis == GroupAxis::peer) { place = "a later stage"; }
  return what + (in ? " from " : " to ") + place;
}

/// The host steps what a copy brought in pieces of a bucket at most.
void TaskBuilder::note_gradients(const StepTasks& copies, std::int64_t elements, int row) {
  const std::int64_t of_bucket = strategy_.bucket.value / size_of(strategy_.precision.reduction);
  const std::int64_t most = std::max<std::int64_t>(1, of_bucket) * state_shards(strategy_);
  const std::int64_t pieces = part(elements, most);
  for (int t = 0; t < tensor_; ++t) {
    for (std::int64_t i = 0; i < pieces; ++i) {
      const std::int64_t from = elements * i / pieces;
      const std::int64_t to = elements * (i + 1) / pieces;
      host_pieces_[index(row * tensor_ + t)].push_back({copies.at(t), to - from});
    }
  }
}

/// Activations come back when they have all gone out.
void TaskBuilder::follow_swap(const Step& step, const StepTasks& tasks, int row,
                              const Action& action) {
  const std::array<int, 4> key{row, action.chunk, action.micro_batch, step.swap};
  if (step.comm.stream == Stream::copy_out) {
    swapped_out_[key] = tasks;
    return;
  }
  if (const auto out = swapped_out_.find(key); out != swapped_out_.end()) {
    chain({out->second}, tasks);
    swapped_out_.erase(out);
  }
}

/// Most micro-batches of a stage that are between their forward and backward.
int TaskBuilder::most_in_flight(int stage) const {
  int held = 0;
  int most = 0;
  for (const Action& action : order_[index(stage)]) {
    held += action.phase == Phase::forward ? 1 : 0;
    most = std::max(most, held);
    held -= action.phase == Phase::backward ? 1 : 0;
  }
  return most;
}

/// What `stage` sets aside for activations of an earlier one.
Bytes TaskBuilder::kept_for_others(int stage) const {
  const int owner = strategy_.pipeline - 1 - stage;
  if (keeper_of(strategy_, owner) != stage) { return {}; }
  Bytes each;
  for (const ChunkPlan& chunk : input_.stages[index(owner)].chunks) { each += chunk.elsewhere; }
  return most_in_flight(owner) * each;
}

/// The description of a step on `elements` by the rank's share of its node's processors.
std::uint32_t TaskBuilder::host_work(std::int64_t elements, int rank) {
  const std::int32_t node = node_of(input_.topology, rank);
  const auto [at, added] = steps_on_host_.try_emplace(
      {elements, node}, static_cast<std::uint32_t>(builder_.graph.computes.size()));
  if (added) {
    const auto& vertices = input_.topology.vertices;
    const auto sharing = std::ranges::count_if(input_.topology.devices, [&](cost::VertexId v) {
      return vertices[static_cast<std::size_t>(v)].node == node;
    });
    const double rate = host_rate(strategy_, input_.topology, node) / static_cast<double>(sharing);
    builder_.graph.computes.push_back(
        {"optimizer on the host", Seconds{static_cast<double>(elements) / rate}, {}, {}});
  }
  return at->second;
}

TaskId TaskBuilder::host_copy_task(const Communication& copy, const Place& place, Phase phase) {
  const auto me = static_cast<std::uint32_t>(slot(place.stage, place.replica, place.tensor));
  const CommKey key{copy.stream, copy.op, copy.group, static_cast<int>(me), copy.size};
  const std::uint32_t comm = table_.comm(
      builder_.graph, key, copy_text(copy, phase) + ", stage " + std::to_string(place.stage),
      group_copies(layout_, input_.folded, place, copy.group));
  const TaskId id = builder_.add({.work = comm,
                                  .place = group({me}),
                                  .kind = TaskKind::comm,
                                  .phase = phase,
                                  .stream = copy.stream});
  TaskId& last = last_host_task_.try_emplace({copy.stream, me}, kNoTask).first->second;
  builder_.edge(last, id);
  last = id;
  return id;
}

/// A step of the optimizer on `elements` after all of `before`.
TaskId TaskBuilder::host_step_task(std::int64_t elements, const Place& place,
                                   std::initializer_list<TaskId> before) {
  const TaskId step = builder_.add(
      {.work = host_work(elements, layout_.rank(place)),
       .place = static_cast<std::uint32_t>(slot(place.stage, place.replica, place.tensor)),
       .kind = TaskKind::compute,
       .phase = Phase::optimizer,
       .stream = Stream::host});
  for (const TaskId task : before) { builder_.edge(task, step); }
  return step;
}

/// States on drives are read ahead and written behind, so many pieces at a time
/// [arXiv:2104.07857, sec. 5.1.1 and 6.3].
TaskId TaskBuilder::step_piece(const HostPiece& piece, std::size_t number, HostQueue& queue) {
  const Place& place = queue.place;
  const auto me = index(slot(place.stage, place.replica, place.tensor));
  const std::int64_t elements = part(piece.elements, state_shards(strategy_));
  const StateSizes sizes = state_sizes(strategy_.precision, strategy_.optimizer);
  const Offload& offload = strategy_.offload;
  const TaskId ready = strategy_.gradient_clipping ? last_sync_[me] : piece.gradient;
  const auto copy = [&](GroupAxis axis, Stream way, int size, Phase phase) {
    Communication comm = host_copy(axis, way);
    comm.size = elements * Bytes{size};
    return host_copy_task(comm, place, phase);
  };
  const bool drives = offload.optimizer == StatesAt::nvme;
  TaskId& written = queue.written[number % queue.written.size()];
  TaskId read = kNoTask;
  if (drives) {
    read = copy(GroupAxis::host_drive, Stream::drive_in, sizes.optimizer, Phase::optimizer);
    builder_.edge(ready, read);
    builder_.edge(written, read);
  }
  queue.stepped =
      host_step_task(elements, place, {ready, read, embedding_sync_[me], queue.stepped});
  if (drives) {
    written = copy(GroupAxis::host_drive, Stream::drive_out, sizes.optimizer, Phase::optimizer);
    builder_.edge(queue.stepped, written);
  }
  if (offload.parameters == StatesAt::cpu) { return queue.stepped; }
  const bool to_drives = offload.parameters == StatesAt::nvme;
  const TaskId weights =
      to_drives
          ? copy(GroupAxis::host_drive, Stream::drive_out, sizes.parameter, Phase::parameter_sync)
          : copy(GroupAxis::host_memory, Stream::copy_in, sizes.parameter, Phase::parameter_sync);
  builder_.edge(queue.stepped, weights);
  return weights;
}

/// Each piece of the shard is stepped when its gradients are there, all of them where they are
/// clipped by their norm; its weights go back while the next one is stepped
/// [arXiv:2101.06840, sec. 5.1]. Returns the last task.
TaskId TaskBuilder::step_on_host(int stage, int replica, int tensor) {
  const std::vector<HostPiece>& pieces = host_pieces_[index(slot(stage, replica, tensor))];
  HostQueue queue{.place = {tensor, replica, stage}};
  TaskId end = kNoTask;
  for (std::size_t i = 0; i < pieces.size(); ++i) { end = step_piece(pieces[i], i, queue); }
  return end;
}

}  // namespace tsim::strategies
