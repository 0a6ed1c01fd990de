#include "sim/cli/print_trace.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <ostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/cli/trace_events.hpp"

namespace tsim::cli {
namespace {

using strategies::kMemoryClasses;
using strategies::kNone;
using strategies::kNoTask;
using strategies::Task;
using strategies::TaskGraph;
using strategies::TaskId;
using strategies::TaskKind;

constexpr std::int32_t kLanes = 100;  // thread numbers set aside for each stream

/// Task numbers sorted by `time`, equal times by number.
std::vector<TaskId> sorted_by(const std::vector<double>& time) {
  std::vector<TaskId> order(time.size());
  std::iota(order.begin(), order.end(), TaskId{0});
  std::sort(order.begin(), order.end(), [&](TaskId a, TaskId b) {
    return std::pair(to_nanoseconds(time[a]), a) < std::pair(to_nanoseconds(time[b]), b);
  });
  return order;
}

/// A message between two ranks: where its arrow starts and which task it lets start.
struct Arrow {
  TaskId consumer = kNoTask;
  TaskId message = kNoTask;
  bool operator<(const Arrow& o) const {
    return std::pair(consumer, message) < std::pair(o.consumer, o.message);
  }
};

/// The members of a task's group; a computation's is the one rank.
std::span<const std::uint32_t> members(const TaskGraph& graph, const Task& task) {
  if (task.kind == TaskKind::comm) { return graph.groups[task.place]; }
  return {&task.place, 1};
}

bool is_message(const TaskGraph& graph, const Task& task) {
  return task.kind == TaskKind::comm && task.stream == strategies::Stream::pp &&
         graph.groups[task.place].size() == 2;
}

/// The first computation on the receiver that waits for `message`.
TaskId consumer_of(const TaskGraph& graph, TaskId message) {
  const std::uint32_t receiver = graph.groups[graph.tasks[message].place][1];
  for (const TaskId next : strategies::successors(graph, message)) {
    const Task& task = graph.tasks[next];
    if (task.kind == TaskKind::compute && task.place == receiver) { return next; }
  }
  return kNoTask;
}

std::vector<Arrow> arrows_of(const TaskGraph& graph) {
  std::vector<Arrow> arrows;
  for (TaskId id = 0; id < graph.tasks.size(); ++id) {
    if (!is_message(graph, graph.tasks[id])) { continue; }
    const TaskId consumer = consumer_of(graph, id);
    if (consumer != kNoTask) { arrows.push_back({.consumer = consumer, .message = id}); }
  }
  std::sort(arrows.begin(), arrows.end());
  return arrows;
}

/// Bytes that one rank holds, by class.
struct Memory {
  std::array<std::int64_t, kMemoryClasses> bytes{};
  std::array<bool, kMemoryClasses> used{};  // ever; others are not shown
  bool changed = true;
};

class TraceWriter {
 public:
  TraceWriter(const TaskGraph& graph, const sim::Timeline& timeline, int ranks, std::ostream& out);
  void write();

 private:
  bool shown(std::uint32_t rank) const { return rank < shown_ranks_; }
  std::int32_t process(std::uint32_t rank) const { return graph_.ranks[rank].global; }
  void name_ranks();
  void prepare_memory();
  Track lane(std::uint32_t rank, const Task& task, Nanoseconds start, Nanoseconds end);
  JsonObject arguments(const Task& task) const;
  std::string slice_name(const Task& task) const;
  void start_task(TaskId id);
  void end_task(TaskId id);
  void write_arrows_into(TaskId consumer, Track track, Nanoseconds at);
  void change_memory(const Task& task, bool at_start);
  void write_memory(Nanoseconds at);

  const TaskGraph& graph_;
  const sim::Timeline& timeline_;
  std::uint32_t shown_ranks_;
  EventStream events_;
  std::vector<std::string> compute_labels_, comm_labels_;  // as JSON strings
  std::vector<Arrow> arrows_;
  std::map<std::pair<std::uint32_t, strategies::Stream>, std::vector<Nanoseconds>> lane_ends_;
  std::vector<Memory> memory_;              // by rank
  std::vector<std::uint32_t> memory_news_;  // ranks whose memory changed at the present time
};

JsonObject other_data() {
  JsonObject data;
  data.add_raw("program", json_text("tsim " TSIM_VERSION));
  return data;
}

TraceWriter::TraceWriter(const TaskGraph& graph, const sim::Timeline& timeline, int ranks,
                         std::ostream& out)
    : graph_(graph),
      timeline_(timeline),
      shown_ranks_(static_cast<std::uint32_t>(graph.ranks.size())),
      events_(out, other_data()),
      arrows_(arrows_of(graph)) {
  if (ranks > 0) { shown_ranks_ = std::min(shown_ranks_, static_cast<std::uint32_t>(ranks)); }
  for (const strategies::Compute& compute : graph.computes) {
    compute_labels_.push_back(json_text(compute.label));
  }
  for (const strategies::Comm& comm : graph.comms) {
    comm_labels_.push_back(json_text(comm.label));
  }
}

void TraceWriter::name_ranks() {
  for (std::uint32_t r = 0; r < shown_ranks_; ++r) {
    const strategies::Rank& rank = graph_.ranks[r];
    std::string name =
        "rank " + std::to_string(rank.global) + " (stage " + std::to_string(rank.stage) + ")";
    if (rank.copies > 1) { name += " and " + std::to_string(rank.copies - 1) + " like it"; }
    events_.process_name(rank.global, json_text(name), static_cast<std::int32_t>(r));
  }
}

void TraceWriter::prepare_memory() {
  memory_.resize(shown_ranks_);
  for (std::uint32_t r = 0; r < shown_ranks_; ++r) {
    for (const strategies::MemoryChange& held : graph_.ranks[r].resident) {
      const auto cls = static_cast<std::size_t>(held.cls);
      memory_[r].bytes[cls] += held.at_start.value;
      memory_[r].used[cls] = true;
    }
    memory_news_.push_back(r);
  }
  for (const Task& task : graph_.tasks) {
    if (task.effect == kNone || !shown(task.place)) { continue; }
    for (const strategies::MemoryChange& change : graph_.effects[task.effect]) {
      memory_[task.place].used[static_cast<std::size_t>(change.cls)] = true;
    }
  }
}

/// The first thread of the task's stream that is free at `start`; it is taken until `end`.
Track TraceWriter::lane(std::uint32_t rank, const Task& task, Nanoseconds start, Nanoseconds end) {
  std::vector<Nanoseconds>& ends = lane_ends_[{rank, task.stream}];
  const auto free =
      std::find_if(ends.begin(), ends.end(), [&](Nanoseconds busy) { return busy <= start; });
  const auto number = std::min(static_cast<std::int32_t>(free - ends.begin()), kLanes - 1);
  const Track track{.process = process(rank),
                    .thread = static_cast<std::int32_t>(task.stream) * kLanes + number + 1};
  if (number == std::ssize(ends)) {
    std::string name(strategies::name_of(task.stream));
    if (number > 0) { name += " " + std::to_string(number + 1); }
    events_.thread_name(track, json_text(name));
    ends.push_back(end);
  } else {
    ends[static_cast<std::size_t>(number)] = end;
  }
  return track;
}

std::string TraceWriter::slice_name(const Task& task) const {
  if (task.kind == TaskKind::comm) { return comm_labels_[task.work]; }
  std::string name = "\"";
  name += strategies::name_of(task.phase);
  if (task.micro_batch >= 0) { name += " " + std::to_string(task.micro_batch); }
  return name + "\"";
}

JsonObject TraceWriter::arguments(const Task& task) const {
  JsonObject arguments;
  const bool comm = task.kind == TaskKind::comm;
  arguments.add_raw("label", comm ? comm_labels_[task.work] : compute_labels_[task.work]);
  arguments.add_raw("phase", json_text(strategies::name_of(task.phase)));
  if (task.micro_batch >= 0) { arguments.add("micro_batch", task.micro_batch); }
  arguments.add("chunk", task.chunk);
  if (comm) {
    const strategies::Comm& what = graph_.comms[task.work];
    arguments.add_raw("algorithm", json_text(what.algorithm));
    arguments.add("ranks", what.ranks);
    arguments.add("payload_bytes", what.payload.value);
  }
  return arguments;
}

void TraceWriter::write_arrows_into(TaskId consumer, Track track, Nanoseconds at) {
  const auto first = std::lower_bound(arrows_.begin(), arrows_.end(), Arrow{consumer, 0});
  for (auto arrow = first; arrow != arrows_.end() && arrow->consumer == consumer; ++arrow) {
    const Task& message = graph_.tasks[arrow->message];
    if (!shown(graph_.groups[message.place][0])) { continue; }
    events_.flow_end(track, at, arrow->message, comm_labels_[message.work]);
  }
}

void TraceWriter::start_task(TaskId id) {
  const Task& task = graph_.tasks[id];
  const Nanoseconds start = to_nanoseconds(timeline_.start[id]);
  const Nanoseconds end = to_nanoseconds(timeline_.end[id]);
  const std::span<const std::uint32_t> group = members(graph_, task);
  const std::string name = slice_name(task);
  const JsonObject details = arguments(task);
  for (const std::uint32_t rank : group) {
    if (!shown(rank)) { continue; }
    const Track track = lane(rank, task, start, end);
    events_.slice({track, start, end, name, strategies::name_of(task.phase)}, details);
    if (task.kind == TaskKind::compute) {
      write_arrows_into(id, track, start);
    } else if (rank == group[0] && is_message(graph_, task) && shown(group[1]) &&
               consumer_of(graph_, id) != kNoTask) {
      events_.flow_start(track, start, id, name);
    }
  }
  change_memory(task, true);
}

void TraceWriter::end_task(TaskId id) { change_memory(graph_.tasks[id], false); }

void TraceWriter::change_memory(const Task& task, bool at_start) {
  if (task.effect == kNone || !shown(task.place)) { return; }
  Memory& memory = memory_[task.place];
  for (const strategies::MemoryChange& change : graph_.effects[task.effect]) {
    const Bytes bytes = at_start ? change.at_start : change.at_end;
    memory.bytes[static_cast<std::size_t>(change.cls)] += bytes.value;
    if (bytes.value != 0 && !memory.changed) {
      memory.changed = true;
      memory_news_.push_back(task.place);
    }
  }
}

/// The state after all that happens at one time, for the ranks where anything did.
void TraceWriter::write_memory(Nanoseconds at) {
  std::sort(memory_news_.begin(), memory_news_.end());
  for (const std::uint32_t rank : memory_news_) {
    Memory& memory = memory_[rank];
    memory.changed = false;
    JsonObject classes;
    for (std::size_t cls = 0; cls < memory.bytes.size(); ++cls) {
      if (!memory.used[cls]) { continue; }
      classes.add(strategies::name_of(static_cast<strategies::MemoryClass>(cls)),
                  memory.bytes[cls]);
    }
    if (classes.empty()) { continue; }
    JsonObject total;
    total.add("bytes", std::accumulate(memory.bytes.begin(), memory.bytes.end(), std::int64_t{0}));
    events_.counter(process(rank), at, R"("memory")", classes);
    events_.counter(process(rank), at, R"("memory in total")", total);
  }
  memory_news_.clear();
}

void TraceWriter::write() {
  name_ranks();
  prepare_memory();
  const std::vector<TaskId> starts = sorted_by(timeline_.start);
  const std::vector<TaskId> ends = sorted_by(timeline_.end);
  auto start = starts.begin();
  auto end = ends.begin();
  Nanoseconds now = 0;
  // What ends at a time makes room for what starts then, so it comes first.
  const auto time_of_start = [&] { return to_nanoseconds(timeline_.start[*start]); };
  const auto time_of_end = [&] { return to_nanoseconds(timeline_.end[*end]); };
  while (start != starts.end() || end != ends.end()) {
    const bool starts_next =
        start != starts.end() && (end == ends.end() || time_of_start() < time_of_end());
    const Nanoseconds next = starts_next ? time_of_start() : time_of_end();
    if (next > now) {
      write_memory(now);
      now = next;
    }
    if (starts_next) {
      start_task(*start++);
    } else {
      end_task(*end++);
    }
  }
  write_memory(now);
  events_.finish();
}

}  // namespace

void print_trace(const TaskGraph& graph, const sim::Timeline& timeline, int ranks,
                 std::ostream& out) {
  TraceWriter(graph, timeline, ranks, out).write();
}

}  // namespace tsim::cli
