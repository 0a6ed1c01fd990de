#include "models/kernel.hpp"

#include <algorithm>

#include "models/fused_graph.hpp"

namespace tsim::models {
namespace {

/// Whether `axis` numbers products that are apart: samples and heads of products between two
/// activations, experts of products with weights.
bool is_batch_axis(Axis axis, bool by_weight) {
  return by_weight ? axis == Axis::expert : axis == Axis::batch || axis == Axis::heads;
}

Kernel forward_kernel(const FusedGraph& f, std::size_t g) {
  const std::vector<OpId>& group = f.groups[g];
  Kernel kernel = kernel_for(f.graph, group, "");
  Traffic reads(f.graph);
  Traffic writes(f.graph);
  for (const OpId id : group) {
    const Op& op = f.op(id);
    for (const Operand& in : op.inputs) {
      if (!f.made_in(in.tensor, g)) { reads.value(in); }
    }
    for (const Operand& w : op.weights) { reads.value(w); }
    for (const Operand& out : op.outputs) {
      if (is_written(f, out.tensor)) { writes.value(out); }
    }
    kernel.flops += model_flops(op) * op.executed;
    if (op.cls == OpClass::contraction) {
      const ProductShape p = product_shape(op);
      kernel.batch = p.batch;
      kernel.m = p.m;
      kernel.n = p.n;
      kernel.k = p.k;
      kernel.operands = operands_of(op);
    }
  }
  kernel.bytes = reads.bytes() + writes.bytes();
  return kernel;
}

}  // namespace

ProductShape product_shape(const Op& op) {
  ProductShape p;
  if (op.kind == OpKind::flash_attention) {
    // Space [batch, heads, sequence | key_sequence, head_dim]: the scores' product.
    const Shape& s = op.space;
    return {.batch = s[0].size * s[1].size, .m = s[2].size, .n = s[3].size, .k = s[4].size};
  }
  const bool by_weight = is_weight_product(op.kind);
  const Shape& left = op.inputs.front().shape;
  const Shape& right = by_weight ? op.weights.front().shape : op.inputs[1].shape;
  const std::size_t kept = op.space.size() - static_cast<std::size_t>(op.reduced);
  for (std::size_t i = 0; i < op.space.size(); ++i) {
    const Dim& d = op.space[i];
    if (i >= kept) {
      p.k *= d.size;
    } else if (is_batch_axis(d.axis, by_weight)) {
      p.batch *= d.size;
    } else if (by_weight ? has_axis(right, d.axis) : !has_axis(left, d.axis)) {
      p.n *= d.size;
    } else {
      p.m *= d.size;
    }
  }
  return p;
}

Operands operands_of(const Op& op) {
  // A weight [n, k] and keys [n, k] are read along k; values [k, n] across it.
  if (op.kind != OpKind::attention_matmul) { return Operands::nt; }
  return op.space.back().axis == op.inputs[1].shape.back().axis ? Operands::nt : Operands::nn;
}

Kernel kernel_for(const OpGraph& graph, const std::vector<OpId>& ops, const std::string& suffix) {
  const auto op = [&](OpId id) -> const Op& { return graph.ops[static_cast<std::size_t>(id)]; };
  const auto weight = [&](OpId id) { return static_cast<int>(op(id).cls); };
  const OpId chief = *std::min_element(ops.begin(), ops.end(),
                                       [&](OpId a, OpId b) { return weight(a) < weight(b); });
  Kernel kernel{.name = op(ops.front()).name + suffix,
                .kind = op(chief).kind,
                .cls = op(chief).cls,
                .part = op(ops.front()).part,
                .ops = ops};
  const Operand& in =
      op(chief).kind == OpKind::embedding ? op(chief).weights.front() : op(chief).inputs.front();
  kernel.dtype = graph.tensors[static_cast<std::size_t>(in.tensor)].dtype;
  const Op& first = op(chief);
  kernel.causal = first.kind == OpKind::flash_attention && first.executed < 1.0;
  kernel.elements = elements(first.space);
  if (first.cls == OpClass::normalization) {
    kernel.columns = elements(Shape(first.space.end() - first.reduced, first.space.end()));
  }
  return kernel;
}

BlockKernels kernels(const OpGraph& graph, Fusion fusion) {
  const FusedGraph f = fused_graph(graph, fusion);
  BlockKernels out;
  for (std::size_t g = 0; g < f.groups.size(); ++g) { out.forward.push_back(forward_kernel(f, g)); }
  append_backward(f, out);
  return out;
}

}  // namespace tsim::models
