// Kernels of the backward pass.
#include <algorithm>
#include <map>
#include <set>

#include "models/fused_graph.hpp"

namespace tsim::models {
namespace {

/// Operations per point of the backward, per operation per point of the forward: a layer norm 9 for
/// the input and 4 for its weights (unless they are frozen) against 7, a softmax 3 against 4, else
/// as many   [arXiv:2007.00072, table A.1].
double backward_ratio(OpKind kind, bool frozen) {
  switch (kind) {
    case OpKind::layer_norm: return frozen ? 9.0 / 7 : 13.0 / 7;
    case OpKind::rms_norm: return frozen ? 7.0 / 4 : 9.0 / 4;  // 7 and 2 against 4
    case OpKind::softmax: return 3.0 / 4;
    case OpKind::cross_entropy: return 2.0 / 4;  // p - onehot, times the loss's gradient
    case OpKind::flash_attention: return 2.5;    // 5 products against 2 [arXiv:2205.14135, alg. 4]
    default: return 1.0;
  }
}

/// Whether `op` hands its output's gradient on, unchanged, to `input`.
bool passes_gradient(const Op& op, TensorId input) {
  return op.kind == OpKind::residual_add ||
         (op.kind == OpKind::bias && op.inputs.front().tensor == input);
}

/// A bias or a table: its gradient is a sum of the output's, computed by a kernel of its own unless
/// that is fused.
bool is_summed_weight(const Op& op) {
  return (op.kind == OpKind::bias || op.kind == OpKind::embedding) && !op.weights.empty();
}

class Backward {
 public:
  Backward(const FusedGraph& f, BlockKernels& out) : f_(f), out_(out) { count_gradient_parts(); }

  void run() {
    for (std::size_t g = f_.groups.size(); g-- > 0;) {
      const Op& first = f_.op(f_.groups[g].front());
      if (first.cls != OpClass::contraction) {
        add_pointwise(g);
      } else if (first.kind == OpKind::flash_attention) {
        add_flash(f_.groups[g].front());
      } else {
        add_products(g);
      }
      add_gradient_sums(g);
      add_gradient_joins(g);
    }
  }

 private:
  bool has_gradient(const Op& op, const Operand& input) const {
    const Tensor& t = f_.tensor(input.tensor);
    return op.input_needs_gradient && t.role == Role::activation && !t.frozen;
  }

  /// Whether the operator's weights are not trained; all of them, or none.
  bool is_frozen(const Op& op) const {
    return !op.weights.empty() && f_.tensor(op.weights.front().tensor).frozen;
  }

  Flops backward_flops(const Op& op) const {
    return model_flops(op) * op.executed * backward_ratio(op.kind, is_frozen(op));
  }

  /// Groups that each make a part of the gradient of `id`. Those of slices need no sum.
  std::set<std::size_t> groups_with_part(TensorId id) const {
    std::set<std::size_t> groups;
    for (const OpId reader : f_.readers_of(id)) {
      const Op& op = f_.op(reader);
      const bool makes_part = std::any_of(op.inputs.begin(), op.inputs.end(), [&](const auto& in) {
        return in.tensor == id && elements(in.shape) == elements(f_.tensor(id).shape) &&
               has_gradient(op, in);
      });
      if (makes_part) { groups.insert(f_.group(reader)); }
    }
    return groups;
  }

  /// A tensor that several kernels read gets as many parts of its gradient. The running sum of
  /// graph.memory is one more.
  void count_gradient_parts() {
    for (std::size_t t = 0; t < f_.graph.tensors.size(); ++t) {
      const auto id = static_cast<TensorId>(t);
      const std::set<std::size_t> groups = groups_with_part(id);
      const bool second_input = id == f_.graph.memory && f_.tensor(id).producer == kNoOp;
      const std::size_t parts = groups.size() + (second_input ? 1 : 0);
      if (parts > 1) { sums_.emplace(*groups.begin(), Sum{id, static_cast<int>(parts) - 1}); }
    }
  }

  /// Sums of gradients that are complete once the first reader's group `g` has run.
  void add_gradient_sums(std::size_t g) {
    const auto [first, last] = sums_.equal_range(g);
    for (auto it = first; it != last; ++it) {
      const Tensor& t = f_.tensor(it->second.tensor);
      if (f_.fusion == Fusion::full && has_input_kernel_) {
        // The kernel that makes the last part adds the others to it. One of a tensor that the same
        // kernel's operators made is among its reads already.
        const int read = f_.made_in(it->second.tensor, g) ? 1 : 0;
        out_.backward_input.back().bytes += (it->second.additions - read) * size_of(t);
        continue;
      }
      for (int i = 0; i < it->second.additions; ++i) {
        out_.backward_input.push_back({.name = t.name + ".gradient_sum",
                                       .kind = OpKind::residual_add,
                                       .cls = OpClass::elementwise,
                                       .part = Part::residual,
                                       .dtype = t.dtype,
                                       .flops = Flops{static_cast<double>(elements(t.shape))},
                                       .bytes = 3 * size_of(t),
                                       .ops = {f_.readers_of(it->second.tensor).front()},
                                       .pass = Pass::backward,
                                       .elements = elements(t.shape)});
      }
    }
  }

  /// Queries, keys and values that one product made get gradients of their own, which a copy joins
  /// to the product's (what the backward of torch.split or unbind runs).
  void add_gradient_joins(std::size_t g) {
    if (f_.fusion == Fusion::full) { return; }
    for (std::size_t t = 0; t < f_.graph.tensors.size(); ++t) {
      const auto id = static_cast<TensorId>(t);
      const std::vector<OpId> readers = slice_readers(id);
      if (readers.size() < 2 || f_.group(readers.front()) != g) { continue; }
      const Tensor& joined = f_.tensor(id);
      out_.backward_input.push_back({.name = joined.name + ".gradient_join",
                                     .kind = OpKind::reshape,
                                     .cls = OpClass::elementwise,
                                     .part = Part::attention,
                                     .dtype = joined.dtype,
                                     .bytes = 2 * size_of(joined),
                                     .ops = {readers.front()},
                                     .pass = Pass::backward,
                                     .elements = elements(joined.shape)});
    }
  }

  /// The contractions that read a slice of `id`, once for each slice.
  std::vector<OpId> slice_readers(TensorId id) const {
    std::vector<OpId> readers;
    for (const OpId reader : f_.readers_of(id)) {
      const Op& op = f_.op(reader);
      if (op.cls != OpClass::contraction) { continue; }
      for (const Operand& in : op.inputs) {
        const bool slice = elements(in.shape) < elements(f_.tensor(id).shape);
        if (in.tensor == id && slice && has_gradient(op, in)) { readers.push_back(reader); }
      }
    }
    return readers;
  }

  /// Whether the gradient of `t` comes from outside its producer's group: of what others read, and
  /// of what ends the block (but not of a copy that only the backward reads).
  bool gradient_arrives(TensorId t) const {
    const bool ends_block = f_.readers_of(t).empty() && !f_.is_kept(t);
    const Tensor& tensor = f_.tensor(t);
    return tensor.role == Role::activation && !tensor.frozen && (f_.read_outside(t) || ends_block);
  }

  /// What group `g` reads: gradients of what leaves it and what was saved.
  Traffic backward_reads(std::size_t g) const {
    Traffic reads(f_.graph);
    for (const OpId id : f_.groups[g]) {
      const Op& op = f_.op(id);
      for (const Operand& out : op.outputs) {
        if (gradient_arrives(out.tensor)) { reads.gradient(out); }
      }
      for (const TensorId t : op.saved) { read_saved(op, t, reads); }
      if (op.cls != OpClass::normalization) { continue; }
      for (const Operand& w : op.weights) { reads.value(w); }
    }
    return reads;
  }

  void read_saved(const Op& op, TensorId t, Traffic& reads) const {
    if (!f_.is_kept(t)) { return; }
    const TensorId stored = stored_instead(f_, t);
    if (stored != t) {
      reads.value({stored, f_.tensor(stored).shape});
      return;
    }
    for (const std::vector<Operand>* operands : {&op.inputs, &op.outputs}) {
      for (const Operand& o : *operands) {
        if (o.tensor == t) { reads.value(o); }
      }
    }
  }

  /// The gradient that group `g` computes for its outside input `t`, or -1 when it is one that came
  /// from outside, unchanged.
  TensorId computed_gradient(TensorId t, std::size_t g) const {
    for (TensorId current = t;;) {
      const std::vector<OpId> readers = f_.readers_in(current, g);
      if (readers.empty()) { return -1; }
      const Op& reader = f_.op(readers.front());
      if (readers.size() > 1 || !passes_gradient(reader, current)) { return current; }
      const TensorId next = reader.outputs.front().tensor;
      if (f_.read_outside(next) && !f_.readers_in(next, g).empty()) { return next; }
      current = next;
    }
  }

  Traffic input_gradients(std::size_t g) const {
    Traffic writes(f_.graph);
    for (const OpId id : f_.groups[g]) {
      for (const Operand& in : f_.op(id).inputs) {
        if (f_.made_in(in.tensor, g) || !has_gradient(f_.op(id), in)) { continue; }
        const TensorId computed = computed_gradient(in.tensor, g);
        if (computed < 0) { continue; }
        writes.gradient(computed == in.tensor ? in : Operand{computed, f_.tensor(computed).shape});
      }
    }
    return writes;
  }

  /// Element-wise operators and normalisations: one kernel.
  void add_pointwise(std::size_t g) {
    const std::vector<OpId>& group = f_.groups[g];
    Kernel kernel = kernel_for(f_.graph, group, ".backward");
    kernel.pass = Pass::backward;
    Traffic writes = input_gradients(g);
    has_input_kernel_ = !writes.empty();
    const bool folded = f_.fusion == Fusion::full && (has_input_kernel_ || group.size() > 1);
    for (const OpId id : group) {
      const Op& op = f_.op(id);
      if (!passes_gradient(op, op.inputs.front().tensor) || folded) {
        kernel.flops += backward_flops(op);
      }
      if (is_frozen(op)) { continue; }
      if (is_summed_weight(op) && !folded) {
        add_weight_sum(op, id);
        continue;
      }
      for (const Operand& w : op.weights) { writes.gradient(w); }
    }
    if (writes.empty()) { return; }
    kernel.bytes = backward_reads(g).bytes() + writes.bytes();
    (has_input_kernel_ ? out_.backward_input : out_.backward_weight).push_back(std::move(kernel));
  }

  /// The gradient of a bias or of a table's rows: a sum over the output's gradient. A table's rows
  /// are read, added to and written.
  void add_weight_sum(const Op& op, OpId id) {
    const Operand& out = op.outputs.front();
    const Operand& weight = op.weights.front();
    const int passes = op.kind == OpKind::embedding ? 2 : 1;
    Kernel kernel = kernel_for(f_.graph, {id}, ".weight_gradient");
    kernel.pass = Pass::weight_gradient;
    kernel.flops = Flops{static_cast<double>(elements(out.shape))};
    kernel.bytes = size_of(f_.graph, out) + passes * size_of(f_.graph, weight);
    for (const TensorId t : op.saved) { kernel.bytes += size_of(f_.tensor(t)); }
    out_.backward_weight.push_back(std::move(kernel));
  }

  /// A fused attention's backward makes the scores again.
  void add_flash(OpId id) {
    const Op& op = f_.op(id);
    Kernel kernel = kernel_for(f_.graph, {id}, ".backward");
    kernel.pass = Pass::backward;
    const ProductShape p = product_shape(op);
    kernel.batch = p.batch;
    kernel.m = p.m;
    kernel.n = p.n;
    kernel.k = p.k;
    kernel.flops = backward_flops(op);
    Traffic writes(f_.graph);
    for (const Operand& in : op.inputs) { writes.gradient(in); }
    kernel.bytes = backward_reads(f_.group(id)).bytes() + writes.bytes();
    out_.backward_input.push_back(std::move(kernel));
    has_input_kernel_ = true;
  }

  /// One of a product's two gradients: [m, k] x [k, n] turned so that `p` describes it.
  struct Gradient {
    Operand of, other;
    ProductShape p;
    std::string suffix;
    bool of_left = true;
  };
  Kernel product_kernel(OpId id, const Gradient& gradient) const {
    const Op& op = f_.op(id);
    Kernel kernel = kernel_for(f_.graph, {id}, gradient.suffix);
    kernel.flops = backward_flops(op);
    kernel.batch = gradient.p.batch;
    kernel.m = gradient.p.m;
    kernel.n = gradient.p.n;
    kernel.k = gradient.p.k;
    const bool by_weight = is_weight_product(op.kind);
    kernel.pass = gradient.of_left || !by_weight ? Pass::backward : Pass::weight_gradient;
    // C = A B^T: dA = dC B, dB = dC^T A. C = A B: dA = dC B^T, dB = A^T dC.
    const bool sums = by_weight && !gradient.of_left && f_.graph.fp32_sums;
    kernel.operands = sums                              ? Operands::tn_sum
                      : !gradient.of_left               ? Operands::tn
                      : operands_of(op) == Operands::nt ? Operands::nn
                                                        : Operands::nt;
    kernel.bytes =
        size_of(f_.graph, op.outputs.front()) + size_of(f_.graph, gradient.other) +
        (sums ? Bytes{kSumBytes * elements(gradient.of.shape)} : size_of(f_.graph, gradient.of));
    return kernel;
  }

  /// A contraction, with a bias in its epilogue or not.
  void add_products(std::size_t g) {
    const std::vector<OpId>& group = f_.groups[g];
    const OpId id = group.front();
    const Op& op = f_.op(id);
    const ProductShape p = product_shape(op);
    const bool by_weight = is_weight_product(op.kind);
    const Operand& left = op.inputs.front();
    const Operand& right = by_weight ? op.weights.front() : op.inputs[1];
    const Gradient of_left{left, right, {p.batch, p.m, p.k, p.n}, ".input_gradient"};
    const Gradient of_right{right,
                            left,
                            {p.batch, p.k, p.n, p.m},
                            by_weight ? ".weight_gradient" : ".second_gradient",
                            false};
    has_input_kernel_ = !by_weight || op.input_needs_gradient;
    auto& list = by_weight ? out_.backward_weight : out_.backward_input;
    if (!is_frozen(op)) { list.push_back(product_kernel(id, of_right)); }
    for (std::size_t i = 1; i < group.size(); ++i) {
      if (!is_frozen(f_.op(group[i]))) { add_weight_sum(f_.op(group[i]), group[i]); }
    }
    if (has_input_kernel_) { out_.backward_input.push_back(product_kernel(id, of_left)); }
  }

  struct Sum {
    TensorId tensor;
    int additions;
  };
  const FusedGraph& f_;
  BlockKernels& out_;
  std::multimap<std::size_t, Sum> sums_;  // by the group that completes them
  bool has_input_kernel_ = false;         // of the group at hand
};

}  // namespace

void append_backward(const FusedGraph& f, BlockKernels& out) { Backward(f, out).run(); }

}  // namespace tsim::models
