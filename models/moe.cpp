// The mixture of experts of a layer: router, dispatch, experts, combine and shared branches.
#include <algorithm>
#include <cmath>

#include "models/block_builder.hpp"

namespace tsim::models {
namespace {

/// What the router hands on.
struct Routes {
  TensorId probabilities = 0;  // [batch, sequence, routes top_k]
  TensorId experts = 0;        // the same, ids
};

/// Sizes of the experts' side.
struct ExpertRows {
  Dim expert, slots;
  double counted = 1;  // rows that papers count over rows that are computed
};

/// Rows of one expert, rounded up: its share of tokens x top_k, times the capacity factor or the
/// load.
ExpertRows expert_rows(const BlockBuilder& b, std::int64_t experts) {
  const auto tokens = static_cast<double>(b.options.micro_batch * b.sequence);
  const double mean = tokens * static_cast<double>(std::min(b.config.moe.top_k, experts)) /
                      static_cast<double>(experts);
  const double factor =
      b.options.capacity_factor > 0 ? b.options.capacity_factor : b.options.expert_load;
  // A product of exact quarters or tenths must not round up to one row more.
  constexpr double kRounding = 1e-9;
  const double rows = std::max(1.0, std::ceil(mean * factor * (1 - kRounding)));
  return {.expert = {Axis::expert, experts},
          .slots = {Axis::slots, static_cast<std::int64_t>(rows)},
          .counted = mean / rows};
}

/// The router's input in its own, wider format [arXiv:2101.03961, sec. 2.4]; the backward makes the
/// copy again.
TensorId router_input(BlockBuilder& b, TensorId x) {
  const DType wide = b.config.moe.router_dtype;
  if (b.graph.tensors[static_cast<std::size_t>(x)].dtype == wide) { return x; }
  const TensorId copy = add_elementwise(b, {"router.cast", OpKind::cast, Part::router, 0}, x);
  b.graph.tensors[static_cast<std::size_t>(copy)].dtype = wide;
  return copy;
}

/// One output for each expert.
TensorId add_scores(BlockBuilder& b, TensorId x, const Dim& routes) {
  const DType wide = b.config.moe.router_dtype;
  const TensorId in = router_input(b, x);
  const Shape shape{b.batch(), b.tokens(), routes};
  const TensorId weight = b.tensor("router.weight", {b.hidden(), routes}, Role::weight, wide);
  const TensorId y = b.tensor("router", shape, Role::activation, wide);
  b.add({.name = "router",
         .kind = OpKind::matmul,
         .cls = OpClass::contraction,
         .part = Part::router,
         .space = joined(shape, {b.hidden()}),
         .reduced = 1,
         .flops_per_point = 2,
         .inputs = {b.whole(in)},
         .weights = {b.whole(weight)},
         .outputs = {b.whole(y)},
         .saved = {x}});
  return y;
}

/// Probabilities of all experts, which the backward and a balancing loss need, and the chosen ones.
Routes add_choice(BlockBuilder& b, TensorId scores, std::int64_t top_k) {
  const MoeConfig& moe = b.config.moe;
  const Shape shape = b.shape_of(scores);
  const DType wide = b.graph.tensors[static_cast<std::size_t>(scores)].dtype;
  const Shape chosen{shape[0], shape[1], {Axis::routes, top_k}};
  const TensorId all = b.tensor("router.scores", shape, Role::activation, wide);
  const Routes routes{b.tensor("router.probabilities", chosen, Role::activation, wide),
                      b.index("router.experts", chosen)};
  Op op{.name = "router.top_k",
        .kind = OpKind::top_k,
        .cls = OpClass::normalization,
        .part = Part::router,
        .space = shape,
        .reduced = 1,
        // A softmax and one pass over the scores for each choice.
        .flops_per_point = 4 + static_cast<double>(top_k),
        .inputs = {b.whole(scores)},
        .outputs = {b.whole(routes.probabilities), b.whole(routes.experts), b.whole(all)},
        .saved = {all, routes.experts}};
  if (moe.router_bias) {
    const TensorId bias =
        b.tensor("router.correction_bias", {shape.back()}, Role::weight, DType::fp32);
    op.weights.push_back(b.whole(bias));
  }
  b.add(std::move(op));
  return routes;
}

/// Rows of the experts, and what scales them where that happens early; -1 elsewhere.
struct Sent {
  TensorId rows = -1, scales = -1;
};

/// Copies tokens to the slots of their experts; its backward adds the copies' gradients up.
Sent add_dispatch(BlockBuilder& b, TensorId x, const Routes& routes, const ExpertRows& rows) {
  const Shape shape{rows.expert, rows.slots, b.hidden()};
  const TensorId y = b.activation("experts.dispatch", shape);
  Op op{.name = "experts.dispatch",
        .kind = OpKind::dispatch,
        .cls = OpClass::elementwise,
        .part = Part::dispatch,
        .space = shape,
        .flops_per_point = 0,
        .inputs = {b.whole(x), b.whole(routes.experts)},
        .outputs = {b.whole(y)},
        .saved = {routes.experts}};
  Sent sent{.rows = y};
  if (b.options.scales_early) {
    const DType wide = b.graph.tensors[static_cast<std::size_t>(routes.probabilities)].dtype;
    sent.scales = b.tensor("experts.scales", {rows.expert, rows.slots}, Role::activation, wide);
    op.inputs.push_back(b.whole(routes.probabilities));
    op.outputs.push_back(b.whole(sent.scales));
  }
  b.add(std::move(op));
  return sent;
}

/// Sums the experts' results of each token, weighted: for the gradient of the weights the results
/// are kept, unless rows were scaled before.
TensorId add_combine(BlockBuilder& b, TensorId x, const Routes& routes) {
  const TensorId y = b.activation("experts.combine", b.stream());
  const bool scaled = b.options.scales_early;
  const auto chosen = static_cast<double>(b.shape_of(routes.experts).back().size);
  Op op{.name = "experts.combine",
        .kind = OpKind::combine,
        .cls = OpClass::elementwise,
        .part = Part::combine,
        .space = b.stream(),
        .flops_per_point = (scaled ? 1 : 2) * chosen,
        .inputs = {b.whole(x)},
        .outputs = {b.whole(y)}};
  if (!scaled) {
    op.inputs.push_back(b.whole(routes.probabilities));
    op.saved = {x, routes.probabilities};
  }
  op.inputs.push_back(b.whole(routes.experts));
  op.saved.push_back(routes.experts);
  b.add(std::move(op));
  return y;
}

/// Scales each row of what the activation function has just made: the products after it are linear.
///   [Megatron-LM, core/fusions/fused_bias_swiglu.py, weighted_bias_swiglu_impl]
void scale_rows(BlockBuilder& b, TensorId scales) {
  Op& op = b.graph.ops.back();
  op.flops_per_point += 1;
  op.inputs.push_back(b.whole(scales));
  op.saved.push_back(scales);
}

TensorId add_experts(BlockBuilder& b, const Sent& sent, const ExpertRows& rows) {
  const ModelConfig& c = b.config;
  const std::int64_t ffn = c.moe.ffn;
  const Dim columns =
      is_gated(c.activation) ? Dim{Axis::gate_expert_ffn, 2 * ffn} : Dim{Axis::expert_ffn, ffn};
  TensorId x = add_linear(b, {.name = "experts.fc1",
                              .part = Part::experts,
                              .input = b.whole(sent.rows),
                              .rows = {rows.slots},
                              .features = {columns},
                              .reduced = {b.hidden()},
                              .bias = c.bias,
                              .groups = {rows.expert},
                              .counted = rows.counted});
  x = activation_function(b, "experts.activation", Part::experts, x);
  if (sent.scales >= 0) { scale_rows(b, sent.scales); }
  return add_linear(b, {.name = "experts.fc2",
                        .part = Part::experts,
                        .input = b.whole(x),
                        .rows = {rows.slots},
                        .features = {b.hidden()},
                        .reduced = {{Axis::expert_ffn, ffn}},
                        .bias = c.bias,
                        .groups = {rows.expert},
                        .counted = rows.counted});
}

/// y times the sigmoid of one trained projection of `x` (Qwen2-MoE's shared_expert_gate).
TensorId add_shared_gate(BlockBuilder& b, TensorId x, TensorId y) {
  const TensorId gate = add_linear(b, {.name = "shared.gate",
                                       .part = Part::mlp,
                                       .input = b.whole(x),
                                       .rows = {b.batch(), b.tokens()},
                                       .features = {{Axis::routes, 1}},
                                       .reduced = {b.hidden()}});
  constexpr double kSigmoidAndProduct = 5;
  const TensorId gated = add_elementwise(
      b, {"shared.gated", OpKind::gated_activation, Part::mlp, kSigmoidAndProduct}, y);
  Op& op = b.graph.ops.back();
  op.inputs.push_back(b.whole(gate));
  op.saved = {y, gate};
  return gated;
}

}  // namespace

TensorId moe_mlp(BlockBuilder& b, TensorId x, std::int64_t experts) {
  const MoeConfig& moe = b.config.moe;
  const ExpertRows rows = expert_rows(b, experts);
  const TensorId scores = add_scores(b, x, {Axis::routes, experts});
  const Routes routes = add_choice(b, scores, std::min(moe.top_k, experts));
  const Sent sent = add_dispatch(b, x, routes, rows);
  TensorId y = add_combine(b, add_experts(b, sent, rows), routes);
  if (moe.shared_ffn > 0) {
    TensorId shared = mlp(b, x, "shared", moe.shared_ffn);
    if (moe.shared_gate) { shared = add_shared_gate(b, x, shared); }
    y = add_residual(b, "shared.sum", y, shared);
  }
  if (moe.residual) { y = add_residual(b, "mlp.sum", y, mlp(b, x, "mlp", b.config.ffn)); }
  return y;
}

}  // namespace tsim::models
