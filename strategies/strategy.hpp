// A parallel training strategy as data: degrees, schedule, memory savers, overlap.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cost/tuning.hpp"
#include "models/dtype.hpp"
#include "models/kept_format.hpp"
#include "models/kernel.hpp"
#include "models/stored_format.hpp"
#include "models/units.hpp"
#include "strategies/experts.hpp"
#include "strategies/offload.hpp"
#include "strategies/pipeline_order.hpp"
#include "strategies/tensor/tensor_split.hpp"
#include "strategies/zero.hpp"

namespace tsim::strategies {

/// Which activations are computed again in the backward [arXiv:2205.05198, sec. 5].
enum class Recompute : std::uint8_t { none, selective, full, operators };
std::string_view name_of(Recompute recompute);

/// Which layers recompute: every one, a few of which keep one input together (uniform), the first
/// ones of each chunk (block), those listed, or as many as memory demands (fit). Names as in
/// Megatron-LM's --recompute-method.
enum class RecomputeMethod : std::uint8_t { every, uniform, block, list, fit };
std::string_view name_of(RecomputeMethod method);

/// How layers are dealt to stages: the same number each, balanced by time, balanced by time as far
/// as memory allows, or as listed.
/// even_with_ends: the embedding and the head each take the place of a layer, as Megatron-LM's
/// account_for_embedding_in_pipeline_split and account_for_loss_in_pipeline_split deal.
enum class LayerSplit : std::uint8_t { even, even_with_ends, balanced, fitting, list };
std::string_view name_of(LayerSplit split);

enum class Optimizer : std::uint8_t {
  adam,
  adamw,
  sgd,
  sgd_momentum,
  lamb,
  adafactor,  // second moments as sums of rows and columns [arXiv:1804.04235]
  adam_8bit,  // moments of one byte [arXiv:2110.02861]
  muon        // orthogonalised momentum for matrices, Adam for the rest [arXiv:2502.16982]
};
std::string_view name_of(Optimizer optimizer);

/// Formats in which a training run keeps things. Bytes per parameter follow.
struct Precision {
  models::DType compute = models::DType::fp16;    // products and activations
  models::DType gradient = models::DType::fp16;   // accumulated gradients
  bool master_weights = true;                     // a separate copy in the optimizer
  models::DType moments = models::DType::fp32;    // each optimizer moment
  models::DType reduction = models::DType::fp16;  // gradients on the wire
  models::DType master = models::DType::fp32;     // of the separate copy
  std::optional<models::DType> weights{};         // as kept; none: as compute, but bf16 for fp8
  std::optional<models::DType> gradient_copy{};   // what the backward writes, kept besides
  int fp8_copies = 0;   // of weights of products, kept besides: quantised, and transposed
  int scale_block = 0;  // side of the blocks of an fp8 weight that share a scale; 0: all of it
  std::vector<models::KeptFormat> kept{};  // activations that wait in another format
  bool operator==(const Precision&) const = default;
};

/// The format in which weights are kept and sent.
constexpr models::DType kept_weights(const Precision& p) {
  return p.weights.value_or(models::stored_format(p.compute));
}

/// How replicas agree: all in step; each at most so many iterations ahead of the slowest
/// [Ho et al., NIPS 2013]; each for itself.
enum class DataMode : std::uint8_t { bsp, ssp, asp };
std::string_view name_of(DataMode mode);

/// Data parallelism through parameter servers.
struct AsyncData {
  bool through_servers = false;  // else replicas meet in collectives
  DataMode mode = DataMode::bsp;
  int staleness = 0;   // ssp: iterations that a worker may be ahead
  int iterations = 1;  // simulated
  int servers = 0;     // the last devices of the cluster; 0: one beside each worker
  bool operator==(const AsyncData&) const = default;
};

/// Whether a collective runs as flows with its steps added up, or step by step.
enum class Fidelity : std::uint8_t { aggregated, steps };
std::string_view name_of(Fidelity fidelity);

/// When gradients are added up over the replicas: once all micro-batches have added to them, or for
/// each of them. automatic: each with sharded gradients, else once.
enum class GradientSync : std::uint8_t { automatic, last, every };
std::string_view name_of(GradientSync sync);

/// How ranks that hold a part of the sequence each compute attention.
///  ring        keys and values go round, one part after another beside the product with the part
///              before [arXiv:2310.01889]
///  all_gather  keys and values are gathered first [arXiv:2407.21783, sec. 3.3.2]
///  ulysses     an all-to-all turns parts of the sequence into parts of the heads
///              [arXiv:2309.14509]
enum class ContextAttention : std::uint8_t { ring, all_gather, ulysses };
std::string_view name_of(ContextAttention attention);

struct Strategy {
  int tensor = 1;    // t: ranks that split every layer
  int pipeline = 1;  // p: stages
  int data = 1;      // d: replicas
  int context = 1;   // c: ranks that split the sequence of every layer
  ContextAttention context_attention = ContextAttention::ring;
  bool zigzag = true;  // rank i has the parts i and 2c-1-i of 2c, so that a causal mask leaves all
                       // the same work
  ExpertParallel experts;
  int chunks = 1;                  // v: model chunks of a stage, as the schedule allows
  bool sequence_parallel = false;  // norms and dropout split along the sequence over t
  std::string schedule = "1f1b";   // a name in the schedule registry, or of an order of its own
  PipelineOrder own_order;         // of a schedule that is not in the registry
  Placement own_placement = Placement::loop;  // the same
  int micro_batch_group = 0;  // interleaved: micro-batches that take turns on a chunk; 0: p
  double most_in_flight = 0;  // zb_auto: activations of so many micro-batches fit; 0: p
  int slices = 0;             // terapipe: slices of a sample; 0: as many as take least
  std::vector<std::int64_t> slice_tokens;  // terapipe: tokens of each slice, where they are stated
  bool host_blocks = false;  // hosts wait for the end of every kernel, CUDA_LAUNCH_BLOCKING=1
  bool host_waits = false;   // hosts of stages that read data wait for the device before a forward
  bool batched_p2p = false;  // messages of neighbours are one blocking exchange
  LayerSplit split = LayerSplit::balanced;
  std::vector<int> layers_per_stage;  // with LayerSplit::list
  int encoder_stages = 0;  // of an encoder-decoder: stages of the encoder alone; 0: any cut
  Recompute recompute = Recompute::none;  // of the layers that recompute
  RecomputeMethod recompute_method = RecomputeMethod::every;
  int recompute_layers = 0;         // of a group (uniform), or the first ones of a chunk (block)
  std::vector<int> recompute_list;  // layers of the model, from 0 (list)
  std::vector<std::string> recompute_operators;  // names, parts or kinds (Recompute::operators)
  std::vector<Recompute> recompute_by_layer;     // what fits, once it has been found (fit)
  bool partition_activations = false;  // kept inputs of layers are cut over the tensor ranks
  int loss_chunks = 1;  // parts of the tokens that logits and their gradients exist for in turn
  int tiling = 1;       // parts of a block whose weights are gathered one after another (ZeRO 3)
  models::Fusion fusion = models::Fusion::framework;
  bool flash_attention = false;
  Optimizer optimizer = Optimizer::adam;
  bool gradient_clipping = true;  // by the norm over all gradients
  bool loss_scaling = false;      // gradients are unscaled and looked through for infinities
  Precision precision;
  Zero zero;
  Offload offload;
  GradientSync gradient_sync = GradientSync::automatic;
  bool gradients_when_made = false;  // the first backward allocates them and the optimizer frees
                                     // them, as PyTorch does; else they are there all the time, as
                                     // Megatron-LM's buffer is
  bool eager_accumulation = false;   // kernels of their own add a micro-batch's gradients to those
                                     // of the ones before; else products do
  bool vocabulary_parallel = true;   // tensor ranks split the vocabulary; else each holds all of it
  bool across_every = true;  // with sync of every micro-batch: over all groups of shards each time
  bool overlap_parameters = false;  // ZeRO 1, 2: weights are gathered block by block before the
                                    // first forward needs them, not after the optimizer
  bool overlap_gradients = true;    // all-reduce buckets while the backward goes on
  Bytes bucket{std::int64_t{25} << 20};       // of gradients
  Bytes first_bucket{std::int64_t{1} << 20};  // the first one to be ready
  std::string order = "tp-cp-dp-pp";          // innermost first: how ranks are numbered
  std::vector<int> stage_places;  // by stage: its place among the stages of `order`; empty: its own
  AsyncData async;
  OperatorCuts operators;       // how operators are split over t that do not follow Megatron's rule
  TensorGrid grid;              // or t on a grid
  int tensor_chunks = 1;        // of a product beside its tensor-parallel communication
  bool overlap_tensor = true;   // input-gradient all-reduces run beside weight-gradient products
  bool scatter_gather = false;  // pipeline messages cut over t [arXiv:2104.04473, sec. 4.1]
  std::string collective = "auto";  // "ring", "tree" or "auto", where an operation has it
  std::map<cost::CollectiveOp, std::string> collective_of;  // instead, for these
  Fidelity fidelity = Fidelity::aggregated;
  bool operator==(const Strategy&) const = default;
};

/// The algorithm that the strategy wants for `op`, or "auto".
std::string_view algorithm_of(const Strategy& strategy, cost::CollectiveOp op);

/// Whether messages between stages are cut over the tensor group. Where activations are divided
/// already a rank's output is its part.
bool cuts_messages(const Strategy& strategy);

/// Ranks that hold the same part of the model along a pipeline: d c.
constexpr int replica_count(const Strategy& s) { return s.data * s.context; }
/// Whether context ranks have unequal work: those later in the sequence attend to more.
bool is_uneven(const Strategy& strategy, bool causal);
/// Plans that differ between ranks of a stage: by context rank, or by which experts a rank has, or
/// 1. The two do not come together.
inline int rank_variants(const Strategy& strategy, bool causal) {
  if (is_unbalanced(strategy.experts)) { return strategy.experts.ranks; }
  return is_uneven(strategy, causal) ? strategy.context : 1;
}
/// Which of these a rank has.
int variant_of(const Strategy& strategy, int tensor, int replica, int variants);

/// t x c x d x p, and servers of their own.
constexpr int world_size(const Strategy& s) {
  return s.tensor * s.pipeline * replica_count(s) + s.async.servers;
}

}  // namespace tsim::strategies
