// The operators of one block (an embedding, a layer, a head) and the tensors between them.
//
// Every operator states its iteration space by named axes, and every operand the axes that the
// operator sees of it. Nothing here knows of parallelism: sharding is a new size for an axis.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/dtype.hpp"
#include "models/units.hpp"

namespace tsim::models {

/// qkv = heads + 2 kv_heads (a fused projection). key_sequence is the sequence as keys see it.
/// gate_ffn = ffn columns of a fused gated projection (2 ffn). patch = elements of one patch.
/// expert = routed experts that a rank holds, slots = rows of one expert, expert_ffn and
/// gate_expert_ffn = its columns, routes = outputs of a router (all experts, or the chosen ones):
/// never split. q_rank, kv_rank = columns of low-rank projections, adapter_rank = those of a
/// low-rank adapter: never split.
enum class Axis : std::uint8_t {
  batch,
  sequence,
  key_sequence,
  hidden,
  qkv,
  heads,
  kv_heads,
  head_dim,
  ffn,
  gate_ffn,
  vocab,
  positions,
  types,
  patch,
  classes,
  pooled,
  expert,
  slots,
  expert_ffn,
  gate_expert_ffn,
  routes,
  q_rank,
  kv_rank,
  adapter_rank
};
std::string_view name_of(Axis axis);

struct Dim {
  Axis axis{};
  std::int64_t size = 1;
  bool operator==(const Dim&) const = default;
};
using Shape = std::vector<Dim>;

/// Product of the sizes; 1 for a scalar.
std::int64_t elements(const Shape& shape);
/// Whether `axis` is one of the dimensions.
bool has_axis(const Shape& shape, Axis axis);
/// "[batch 8, sequence 512, hidden 768]".
std::string to_string(const Shape& shape);

/// The three classes of [arXiv:2007.00072, sec. 3].
enum class OpClass : std::uint8_t { contraction, normalization, elementwise };
std::string_view name_of(OpClass c);

/// What the kernel is, as far as its cost or its backward differ.
enum class OpKind : std::uint8_t {
  matmul,            // activation x weight
  attention_matmul,  // activation x activation, batched over heads
  flash_attention,   // scores, softmax and weighted sum in one kernel
  softmax,
  layer_norm,
  rms_norm,
  cross_entropy,
  bias,
  scale,
  mask,
  dropout,
  activation,
  gated_activation,
  residual_add,
  rotary,
  embedding,
  cast,
  reshape,
  top_k,           // a router's choice of experts
  dispatch,        // tokens to the experts' slots
  combine,         // slots back to their tokens, weighted
  grouped_matmul,  // activation x weight for every expert
  optimizer        // the step of a rank's weights: in no graph of a model
};
std::string_view name_of(OpKind kind);

/// Where in a block the operator sits: recomputation and reports select by it.
enum class Part : std::uint8_t {
  embedding,
  norm,
  attention,
  attention_core,
  mlp,
  residual,
  head,
  loss,
  router,
  dispatch,
  experts,
  combine
};
std::string_view name_of(Part part);

/// Whether the kernel multiplies an activation with a weight.
constexpr bool is_weight_product(OpKind kind) {
  return kind == OpKind::matmul || kind == OpKind::grouped_matmul;
}

/// mask: of a dropout. statistic: what a normalisation keeps per row (mean, log-sum-exp). index:
/// ids, labels, pixels, attention masks: inputs without a gradient.
enum class Role : std::uint8_t { activation, weight, mask, statistic, index };

using TensorId = std::int32_t;
using OpId = std::int32_t;
inline constexpr OpId kNoOp = -1;

struct Tensor {
  std::string name;
  Shape shape;
  DType dtype = DType::fp16;
  Role role = Role::activation;
  OpId producer = kNoOp;  // kNoOp: an input of the block, or a weight
  /// A weight that is not trained, or an activation made of such alone: it has no gradient.
  bool frozen = false;
  bool operator==(const Tensor&) const = default;
};
/// Bytes of the whole tensor.
Bytes size_of(const Tensor& tensor);

/// A tensor as one operator reads or writes it: the shape can differ from the stored one when the
/// operator needs the tensor gathered (sequence parallelism) or reads a part.
struct Operand {
  TensorId tensor = 0;
  Shape shape;
  bool operator==(const Operand&) const = default;
};

struct Op {
  std::string name;  // "attention.qkv"
  OpKind kind{};
  OpClass cls{};
  Part part{};
  Shape space{};  // the iteration space: the output's axes, then the reduced ones
  /// How many of the last axes of `space` are summed over. A normalisation's output has the axis
  /// that its statistics reduce.
  int reduced = 0;
  double flops_per_point = 0;  // 2 for a contraction's multiply and add
  /// Share of the points that the kernel executes: (1 + 1/s)/2 for causal flash attention. Model
  /// FLOPs count all points, as papers do.
  double executed = 1.0;
  std::vector<Operand> inputs{};   // activations, masks, statistics, indices
  std::vector<Operand> weights{};  // trained tensors, unless they are frozen
  std::vector<Operand> outputs{};
  std::vector<TensorId> saved{};     // inputs or outputs that the backward needs
  bool input_needs_gradient = true;  // false for a lookup of indices or of pixels
  bool operator==(const Op&) const = default;
};
/// FLOPs of one forward execution by the papers' count (all points of the space).
Flops model_flops(const Op& op);

/// Operators in topological order. Boost.Graph is used inside op_graph.cpp only.
struct OpGraph {
  std::vector<Tensor> tensors;
  std::vector<Op> ops;
  TensorId input = -1;  // the activation that enters the block; -1 when indices or pixels do
  /// The encoder's output: a decoder layer's second input, which a decoder embedding hands on. -1
  /// elsewhere.
  TensorId memory = -1;
  TensorId output = -1;  // the activation that leaves it; -1 when the block ends in a loss
  /// Products add the gradients of their weights to sums in fp32; else they write them.
  bool fp32_sums = false;
  bool operator==(const OpGraph&) const = default;
};

/// Operators that read what `op` writes, in order.
std::vector<OpId> consumers(const OpGraph& graph, OpId op);

/// The same graph, operators sorted so that each comes after its producers; throws
/// std::logic_error naming an operator on a cycle (a programming error in a model family).
OpGraph topologically_sorted(OpGraph graph);

/// Elements of the block's weights, and of those that are trained.
std::int64_t parameters(const OpGraph& graph);
std::int64_t trained_parameters(const OpGraph& graph);

/// Distinct tensors kept for the backward, each once, and their bytes. A decoder layer's `memory`
/// is not among them: all layers share it, and the decoder embedding that hands it on lists it.
std::vector<TensorId> saved_tensors(const OpGraph& graph);
Bytes saved_bytes(const OpGraph& graph);

}  // namespace tsim::models
