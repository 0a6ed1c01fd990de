#include "sim/comm_load.hpp"

#include <algorithm>
#include <cassert>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>

namespace tsim::sim {

using cost::ChannelId;
using strategies::Comm;
using strategies::Flow;
using strategies::kNone;
using strategies::Task;
using strategies::TaskGraph;
using strategies::TaskId;
using strategies::TaskKind;

namespace {

/// Seconds that the busiest channel needs for the flows that `pick` admits.
template <class Pick>
double busiest(const Comm& comm, std::span<const cost::Channel> channels, Pick pick) {
  std::map<ChannelId, double> bytes;
  for (std::size_t i = 0; i < comm.flows.size(); ++i) {
    if (pick(i)) {
      for (const ChannelId c : comm.flows[i].channels) { bytes[c] += comm.flows[i].bytes; }
    }
  }
  double longest = 0;
  for (const auto& [c, sum] : bytes) {
    longest = std::max(longest, sum / channels[static_cast<std::size_t>(c)].bandwidth.value);
  }
  return longest;
}

/// Communications of one group on one stream: a queue.
using Queue = std::pair<std::uint32_t, strategies::Stream>;

/// Whether the edges lead from `a` to `b`, looked for in the neighbourhood only: a false "no" costs
/// time later, never correctness.
bool follows(const TaskGraph& graph, TaskId a, TaskId b) {
  constexpr std::size_t kReach = 64;
  std::vector<TaskId> seen{a};
  for (std::size_t i = 0; i < seen.size() && seen.size() < kReach; ++i) {
    const auto next = strategies::successors(graph, seen[i]);
    if (std::binary_search(next.begin(), next.end(), b)) { return true; }
    for (const TaskId t : next) {
      if (t < b && std::find(seen.begin(), seen.end(), t) == seen.end()) { seen.push_back(t); }
    }
  }
  return false;
}

/// By communication: the queue it belongs to, or kMany when it can run twice at a time.
constexpr std::uint32_t kMany = kNone - 1;

std::vector<std::uint32_t> queues_of(const TaskGraph& graph) {
  struct State {
    std::uint32_t index;
    TaskId last;
    bool serial = true;
  };
  std::map<Queue, State> queues;
  std::vector<std::uint32_t> queue_of(graph.comms.size(), kNone);
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    const Task& task = graph.tasks[t];
    if (task.kind != TaskKind::comm) { continue; }
    const auto index = static_cast<std::uint32_t>(queues.size());
    const auto [it, fresh] = queues.try_emplace({task.place, task.stream}, State{index, t});
    State& queue = it->second;
    queue.serial = queue.serial && (fresh || follows(graph, queue.last, t));
    queue.last = t;
    std::uint32_t& of = queue_of[task.work];
    of = of == kNone || of == queue.index ? queue.index : kMany;
  }
  std::vector<bool> serial(queues.size());
  for (const auto& [key, state] : queues) { serial[state.index] = state.serial; }
  for (std::uint32_t& of : queue_of) { of = of < kMany && !serial[of] ? kMany : of; }
  return queue_of;
}

/// Calls visit(channel, flow's index) for every channel on which a flow moves bytes.
template <class Visit>
void for_each_use(const Comm& comm, Visit visit) {
  for (std::size_t i = 0; i < comm.flows.size(); ++i) {
    if (comm.flows[i].bytes > 0) {
      for (const ChannelId c : comm.flows[i].channels) { visit(c, i); }
    }
  }
}

/// By channel: whether communications that are not one queue use it.
std::vector<bool> meeting_channels(const TaskGraph& graph, const std::vector<std::uint32_t>& queue,
                                   std::size_t channel_count) {
  std::vector<std::uint32_t> user(channel_count, kNone);
  for (std::size_t i = 0; i < graph.comms.size(); ++i) {
    if (queue[i] != kNone) {  // else no task uses it
      for_each_use(graph.comms[i], [&](ChannelId c, std::size_t) {
        std::uint32_t& of = user[static_cast<std::size_t>(c)];
        of = of == kNone || of == queue[i] ? queue[i] : kMany;
      });
    }
  }
  std::vector<bool> meeting(channel_count);
  std::transform(user.begin(), user.end(), meeting.begin(), [](auto of) { return of == kMany; });
  return meeting;
}

/// By flow of a communication: whether it is on a meeting channel, or shares a channel with a flow
/// that is: what the one is given the other lacks.
std::vector<bool> shared_flows(const Comm& comm, const std::vector<bool>& meeting) {
  std::vector<std::pair<ChannelId, std::size_t>> users;  // channel, flow
  std::vector<ChannelId> reached;
  for_each_use(comm, [&](ChannelId c, std::size_t flow) {
    users.emplace_back(c, flow);
    if (meeting[static_cast<std::size_t>(c)]) { reached.push_back(c); }
  });
  std::sort(users.begin(), users.end());
  std::vector<bool> shared(comm.flows.size());
  while (!reached.empty()) {
    const ChannelId channel = reached.back();
    reached.pop_back();
    for (auto user =
             std::lower_bound(users.begin(), users.end(), std::pair{channel, std::size_t{0}});
         user != users.end() && user->first == channel; ++user) {
      const std::size_t flow = user->second;
      if (!shared[flow]) {
        shared[flow] = true;
        const auto& channels = comm.flows[flow].channels;
        reached.insert(reached.end(), channels.begin(), channels.end());
      }
    }
  }
  return shared;
}

/// Flows that share channels, directly or by way of others, as sets.
class Joined {
 public:
  explicit Joined(std::size_t flows) : parent_(flows) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
  }
  std::size_t first_of(std::size_t flow) {
    while (parent_[flow] != flow) {
      parent_[flow] = parent_[parent_[flow]];
      flow = parent_[flow];
    }
    return flow;
  }
  /// The set keeps the number of its first flow.
  void join(std::size_t a, std::size_t b) {
    const std::size_t first = first_of(a);
    const std::size_t second = first_of(b);
    parent_[std::max(first, second)] = std::min(first, second);
  }

 private:
  std::vector<std::size_t> parent_;
};

/// The shared flows with their part's first flow, part by part.
std::vector<std::pair<std::size_t, std::size_t>> in_parts(const Comm& comm,
                                                          const std::vector<bool>& shared) {
  Joined joined(comm.flows.size());
  std::unordered_map<ChannelId, std::size_t> user;
  for (std::size_t f = 0; f < comm.flows.size(); ++f) {
    if (!shared[f]) { continue; }
    for (const ChannelId c : comm.flows[f].channels) {
      joined.join(user.try_emplace(c, f).first->second, f);
    }
  }
  std::vector<std::pair<std::size_t, std::size_t>> flows;
  for (std::size_t f = 0; f < comm.flows.size(); ++f) {
    if (shared[f]) { flows.emplace_back(joined.first_of(f), f); }
  }
  std::sort(flows.begin(), flows.end());
  return flows;
}

/// Fills what of `comm` may meet others; `path_of` numbers lists of channels.
template <class PathOf>
void add_parts(const Comm& comm, const std::vector<bool>& shared, const std::vector<bool>& meeting,
               PathOf path_of, CommLoad& load) {
  std::size_t last = comm.flows.size();
  for (const auto& [first, number] : in_parts(comm, shared)) {
    const Flow& flow = comm.flows[number];
    const auto at = static_cast<std::uint32_t>(load.flows.size());
    load.flows.push_back({path_of(flow), flow.bytes});
    if (first != last) { load.parts.push_back({at, at, 0}); }
    load.parts.back().end = at + 1;
    last = first;
    const auto part = static_cast<std::uint32_t>(load.parts.size()) - 1;
    for (const ChannelId c : flow.channels) {
      if (meeting[static_cast<std::size_t>(c)]) { load.meeting.push_back({c, part}); }
    }
  }
  std::sort(load.meeting.begin(), load.meeting.end());
  load.meeting.erase(std::unique(load.meeting.begin(), load.meeting.end()), load.meeting.end());
}

/// Seconds that a part takes alone: its busiest channel's.
double alone(const SharedPart& part, const CommLoad& load,
             const std::vector<std::vector<ChannelId>>& paths,
             std::span<const cost::Channel> channels) {
  std::map<ChannelId, double> bytes;
  for (std::uint32_t f = part.first; f < part.end; ++f) {
    for (const ChannelId c : paths[load.flows[f].path]) { bytes[c] += load.flows[f].bytes; }
  }
  double longest = 0;
  for (const auto& [c, sum] : bytes) {
    longest = std::max(longest, sum / channels[static_cast<std::size_t>(c)].bandwidth.value);
  }
  return longest;
}

}  // namespace

double transfer_alone(const Comm& comm, std::span<const cost::Channel> channels) {
  return busiest(comm, channels, [](std::size_t) { return true; });
}

CommLoads comm_loads(const TaskGraph& graph, std::span<const cost::Channel> channels) {
  const auto queue = queues_of(graph);
  const auto meeting = meeting_channels(graph, queue, channels.size());
  std::map<std::vector<ChannelId>, std::uint32_t> path_index;
  CommLoads loads;
  loads.comms.resize(graph.comms.size());
  for (std::size_t i = 0; i < graph.comms.size(); ++i) {
    if (queue[i] == kNone) {
      continue;  // no task uses it
    }
    const Comm& comm = graph.comms[i];
    const auto shared = shared_flows(comm, meeting);
    CommLoad& load = loads.comms[i];
    load.latency = comm.latency.value;
    load.alone = transfer_alone(comm, channels);
    load.alone_private = busiest(comm, channels, [&](std::size_t f) { return !shared[f]; });
    const auto path_of = [&](const Flow& flow) {
      const auto fresh = static_cast<std::uint32_t>(path_index.size());
      return path_index.try_emplace(flow.channels, fresh).first->second;
    };
    add_parts(comm, shared, meeting, path_of, load);
  }
  loads.paths.resize(path_index.size());
  for (const auto& [path, index] : path_index) { loads.paths[index] = path; }
  for (CommLoad& load : loads.comms) {
    for (SharedPart& part : load.parts) { part.alone = alone(part, load, loads.paths, channels); }
  }
  return loads;
}

}  // namespace tsim::sim
