// Communications of a task graph: planned over devices, laid onto channels, folded copies added.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "cost/collectives.hpp"
#include "strategies/exchange.hpp"
#include "strategies/host_copies.hpp"
#include "strategies/rank_group.hpp"
#include "strategies/strategy.hpp"
#include "strategies/task_graph.hpp"

namespace tsim::strategies {

/// The same collective on several groups of devices at once. The first group is simulated; the
/// others are symmetric copies that are folded into it (none when nothing is folded).
using GroupCopies = std::vector<std::vector<int>>;

struct CommKey {
  Stream stream{};
  cost::CollectiveOp op{};
  RankGroup group;
  int role = 0;  // tells groups of the same form apart, numbered by the caller
  Bytes payload;
  int layer = 0;       // as Communication's
  bool alone = false;  // one simulated rank stands for the whole group
  int root = 0;        // as Communication's
  auto operator<=>(const CommKey&) const = default;
};

class CommTable {
 public:
  CommTable(const cost::Topology& topology, cost::Router& router, const Strategy& strategy)
      : topology_(&topology), router_(&router), copies_(topology, router), strategy_(&strategy) {}

  /// Who sends how much to experts where that is drawn; outlives the table.
  void use(const ExpertDraws* draws) { draws_ = draws; }

  /// Index in `graph.comms` of the communication, planned at its first use.
  std::uint32_t comm(TaskGraph& graph, const CommKey& key, const std::string& label,
                     const GroupCopies& copies);

  /// The same, when it has been planned before.
  std::optional<std::uint32_t> known(const CommKey& key) const {
    const auto found = known_.find(key);
    return found == known_.end() ? std::nullopt : std::optional(found->second);
  }

  /// Whether every copy, all of them running at once, takes the same time (to 1e-9).
  bool alike(cost::CollectiveOp op, const GroupCopies& copies, Bytes payload);
  bool alike(const CommKey& key, const GroupCopies& copies);

 private:
  std::vector<Flow> flows(const cost::CollectivePlan& plan);
  Comm lay(const CommKey& key, std::string_view algorithm, const std::vector<int>& devices);
  ExchangeTraffic traffic_of(const CommKey& key) const;
  void keep_first(Comm& comm);
  const cost::Topology* topology_;
  cost::Router* router_;
  HostCopies copies_;
  const Strategy* strategy_;
  const ExpertDraws* draws_ = nullptr;
  std::map<CommKey, std::uint32_t> known_;
};

}  // namespace tsim::strategies
