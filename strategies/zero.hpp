// How parameters, gradients and optimizer states are sharded over replicas: ZeRO, FSDP and kin.
#pragma once

#include <cstdint>
#include <vector>

#include "models/units.hpp"
#include "strategies/rank_group.hpp"

namespace tsim::strategies {

struct Strategy;

/// Stage 1 shards the optimizer's states, 2 the gradients too, 3 the parameters too
/// [arXiv:1910.02054, sec. 5]. Fully sharded data parallelism is stage 3 [arXiv:2304.11277].
struct Zero {
  int stage = 0;
  int shard_group = 0;  // neighbouring replicas that share one copy, other groups hold others
                        // (MiCS [arXiv:2205.00119], hybrid sharding); 0: all replicas
  // stage 3
  int prefetch = 1;              // blocks that are gathered ahead of the one that computes
  std::int64_t persistence = 0;  // weight tensors of fewer elements are kept whole
  bool reshard = true;           // gathered parameters are freed between forward and backward
  int secondary_group = 0;       // replicas that share a second copy, from which the backward
                                 // gathers [arXiv:2306.10209, sec. 3.2]; 0: none
  // on the wire [arXiv:2306.10209, sec. 3.1 and 3.3]; 0: as they are kept
  int weight_bits = 0;
  int gradient_bits = 0;
  bool with_pipeline = false;  // stages 2 and 3 although every micro-batch communicates
  bool operator==(const Zero&) const = default;
};

/// Replicas that share one copy of what is sharded: all, or a group. 1 at stage 0.
int shard_count(const Strategy& strategy);

/// Whether gradients are sent by every micro-batch's backward, where they are made, rather than
/// once all micro-batches have added to them.
bool syncs_every(const Strategy& strategy);

/// Whether programs send gradients themselves (else buckets are marked and sent at the end of the
/// iteration by all holders of a stage).
bool sends_in_programs(const Strategy& strategy);

/// One step of a gradient's way, per element.
struct GradientSend {
  Communication comm;  // without its size
  double bytes = 0;    // of the buffer, for each gradient element
};

/// From every replica's sum to the shards or the whole sum: an all-reduce; or a reduce-scatter,
/// then an all-reduce between the groups that hold other copies. Quantised gradients take two
/// all-to-alls, inside a secondary group and between them, with a sum after each. At last, the
/// shard is copied out where the host steps the optimizer.
/// `across`: with the sum over other groups.
std::vector<GradientSend> gradient_sends(const Strategy& strategy, bool across);

/// Ranks that hold copies of the same part of the same experts.
RankGroup expert_copies(const Strategy& strategy);

/// The same for gradients of experts that are spread otherwise than the rest of a layer: from every
/// rank that holds a copy of them.
std::vector<GradientSend> expert_gradient_sends(const Strategy& strategy);

/// The group from which a block's parameters are gathered at stage 3, and the bytes of an element.
GradientSend parameter_gather(const Strategy& strategy, bool backward);

/// Groups of replicas that `strategy` communicates over, beside all of them.
std::vector<RankGroup> replica_groups(const Strategy& strategy);

}  // namespace tsim::strategies
