#include "strategies/zero.hpp"

#include <algorithm>

#include "strategies/offload.hpp"
#include "strategies/strategy.hpp"

namespace tsim::strategies {
namespace {

using cost::CollectiveOp;

RankGroup neighbours(int size) { return {GroupAxis::replica, size, 1}; }

/// Ranks with the same place in every group of `size` neighbours.
RankGroup across_groups(const Strategy& s, int size) {
  return {GroupAxis::replica, replica_count(s) / size, size};
}

GradientSend send(CollectiveOp op, const RankGroup& group, double bytes) {
  return {{op, group, Stream::dp, {}}, bytes};
}

double wire_bytes(int bits, models::DType kept) {
  return bits > 0 ? bits / 8.0 : static_cast<double>(size_of(kept));
}

}  // namespace

int shard_count(const Strategy& s) {
  if (s.zero.stage == 0) { return 1; }
  return s.zero.shard_group > 0 ? s.zero.shard_group : replica_count(s);
}

bool syncs_every(const Strategy& s) {
  return s.gradient_sync == GradientSync::automatic ? s.zero.stage >= 2 || steps_on_host(s)
                                                    : s.gradient_sync == GradientSync::every;
}

bool sends_in_programs(const Strategy& s) {
  if (steps_on_host(s)) { return true; }
  if (replica_count(s) == 1) { return false; }
  const bool grouped = s.zero.stage > 0 && shard_count(s) < replica_count(s);
  return s.zero.stage >= 2 || syncs_every(s) || grouped;
}

namespace {

std::vector<GradientSend> replica_sends(const Strategy& s, bool across) {
  const int all = replica_count(s);
  if (all == 1) { return {}; }
  const double bytes = wire_bytes(s.zero.gradient_bits, s.precision.reduction);
  if (s.zero.stage == 0) { return {send(CollectiveOp::all_reduce, neighbours(all), bytes)}; }
  const int shards = shard_count(s);
  std::vector<GradientSend> sends;
  const int inner = s.zero.secondary_group;
  if (s.zero.gradient_bits > 0 && inner > 1 && inner < shards) {
    sends.push_back(send(CollectiveOp::all_to_all, neighbours(inner), bytes));
    sends.push_back(
        send(CollectiveOp::all_to_all, {GroupAxis::replica, shards / inner, inner}, bytes / inner));
  } else {
    const CollectiveOp op =
        s.zero.gradient_bits > 0 ? CollectiveOp::all_to_all : CollectiveOp::reduce_scatter;
    sends.push_back(send(op, neighbours(shards), bytes));
  }
  if (shards < all && across) {
    sends.push_back(send(CollectiveOp::all_reduce, across_groups(s, shards),
                         static_cast<double>(size_of(s.precision.reduction)) / shards));
  }
  return sends;
}

}  // namespace

std::vector<GradientSend> gradient_sends(const Strategy& s, bool across) {
  std::vector<GradientSend> sends = replica_sends(s, across);
  if (steps_on_host(s)) {
    sends.push_back({host_copy(GroupAxis::host_memory, Stream::copy_out),
                     static_cast<double>(size_of(s.precision.gradient)) / shard_count(s)});
  }
  return sends;
}

RankGroup expert_copies(const Strategy& s) {
  return {GroupAxis::plane, expert_replicas(s), expert_tensor(s) * s.experts.ranks};
}

std::vector<GradientSend> expert_gradient_sends(const Strategy& s) {
  std::vector<GradientSend> sends;
  if (expert_replicas(s) > 1) {
    const CollectiveOp op =
        s.zero.stage == 0 ? CollectiveOp::all_reduce : CollectiveOp::reduce_scatter;
    sends.push_back(
        send(op, expert_copies(s), static_cast<double>(size_of(s.precision.reduction))));
  }
  if (steps_on_host(s)) {
    const double shards = s.zero.stage == 0 ? 1 : expert_replicas(s);
    sends.push_back({host_copy(GroupAxis::host_memory, Stream::copy_out),
                     static_cast<double>(size_of(s.precision.gradient)) / shards});
  }
  return sends;
}

GradientSend parameter_gather(const Strategy& s, bool backward) {
  const bool second = backward && s.zero.secondary_group > 0;
  const int size = second ? s.zero.secondary_group : shard_count(s);
  return send(CollectiveOp::all_gather, neighbours(size),
              wire_bytes(s.zero.weight_bits, kept_weights(s.precision)));
}

std::vector<RankGroup> replica_groups(const Strategy& s) {
  std::vector<RankGroup> groups;
  const auto add = [&groups](const RankGroup& group) {
    if (group.size > 1 && std::find(groups.begin(), groups.end(), group) == groups.end()) {
      groups.push_back(group);
    }
  };
  add(neighbours(s.context));
  if (sends_in_programs(s)) {
    for (const GradientSend& g : gradient_sends(s, true)) { add(g.comm.group); }
  }
  if (s.zero.stage == 3) {
    for (const bool backward : {false, true}) { add(parameter_gather(s, backward).comm.group); }
  }
  return groups;
}

}  // namespace tsim::strategies
