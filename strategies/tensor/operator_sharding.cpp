#include "strategies/tensor/operator_sharding.hpp"

#include <algorithm>
#include <cassert>
#include <optional>

#include "strategies/tensor/reshard.hpp"
#include "strategies/tensor/statistics.hpp"

namespace tsim::strategies {
namespace {

using cost::CollectiveOp;
using models::Axis;
using models::Dim;
using models::Op;
using models::Operand;
using models::OpGraph;
using models::OpId;
using models::OpKind;
using models::Role;
using models::Shape;
using models::Tensor;
using models::TensorId;

/// Bits that number the parts of each axis of an operator, and how many ranks do the same.
struct OpBits {
  std::vector<std::pair<Axis, std::vector<int>>> axes;
  int repeats = 1;

  std::vector<int> of(Axis axis) const {
    for (const auto& [known, bits] : axes) {
      if (known == cut_axis(axis)) { return bits; }
    }
    return {};
  }
};

/// The device matrix [repeats, factors ...]: high bits first, as MindSpore orders it.
OpBits deal_bits(const AxisFactors& factors, int ranks) {
  int parts = 1;
  for (const auto& [axis, factor] : factors) { parts *= factor; }
  OpBits dealt{.axes = {}, .repeats = ranks / parts};
  int next = bits_of(parts) - 1;
  for (const auto& [axis, factor] : factors) {
    std::vector<int> bits(static_cast<std::size_t>(bits_of(factor)));
    std::generate(bits.begin(), bits.end(), [&next] { return next--; });
    if (!bits.empty()) { dealt.axes.emplace_back(axis, std::move(bits)); }
  }
  return dealt;
}

/// Megatron's: the axis that tensor parallelism divides, else the sequence if that is divided.
AxisFactors megatron_factors(const Op& op, const Sharding& s) {
  for (const Dim& dim : op.space) {
    if (is_split({dim})) { return {{cut_axis(dim.axis), s.tensor}}; }
  }
  if (s.sequence_parallel && has_axis(op.space, Axis::sequence)) {
    return {{Axis::sequence, s.tensor}};
  }
  return {};
}

const Op* op_named(const OpGraph& graph, const std::string& name) {
  const auto found = std::find_if(graph.ops.begin(), graph.ops.end(),
                                  [&](const Op& op) { return op.name == name; });
  return found == graph.ops.end() ? nullptr : &*found;
}

/// The factors of the axes that `op` has, or that cut nothing.
AxisFactors kept_axes(const AxisFactors& factors, const Op& op) {
  AxisFactors kept;
  for (const auto& [axis, factor] : factors) {
    const bool has = factor == 1 ||
                     std::any_of(op.space.begin(), op.space.end(),
                                 [axis = axis](const Dim& d) { return cut_axis(d.axis) == axis; });
    if (has) { kept.emplace_back(axis, factor); }
  }
  return kept;
}

AxisFactors factors_of_op(const OpGraph& graph, const Op& op, const Sharding& s,
                          const OperatorCuts& cuts) {
  if (const auto cut = cuts.find(op.name); cut != cuts.end()) {
    return axis_cut(graph, op, cut->second, s.tensor).factors;
  }
  constexpr std::string_view kBias = "_bias";
  if (op.kind == OpKind::bias && op.name.ends_with(kBias)) {
    const std::string product = op.name.substr(0, op.name.size() - kBias.size());
    const Op* of = op_named(graph, product);
    if (of != nullptr && cuts.contains(product)) {
      AxisFactors factors = axis_cut(graph, *of, cuts.at(product), s.tensor).factors;
      // Summands are added up before the bias, and may lie otherwise then.
      if (kept_axes(factors, op).size() == factors.size()) { return factors; }
    }
  }
  return megatron_factors(op, s);
}

TensorLayout layout_of(const Shape& shape, const OpBits& bits) {
  TensorLayout layout;
  layout.dims.reserve(shape.size());
  for (const Dim& dim : shape) { layout.dims.push_back(bits.of(dim.axis)); }
  return layout;
}

/// Bits of the operator's axes that `shape` lacks: it holds summands of what has that shape.
std::vector<int> missing_bits(const Shape& shape, const OpBits& bits) {
  std::vector<int> missing;
  for (const auto& [axis, of_axis] : bits.axes) {
    const bool has = std::any_of(shape.begin(), shape.end(),
                                 [axis = axis](const Dim& d) { return cut_axis(d.axis) == axis; });
    if (!has) { missing.insert(missing.end(), of_axis.begin(), of_axis.end()); }
  }
  std::sort(missing.begin(), missing.end());
  return missing;
}

/// Runs of neighbours in ascending `bits`.
std::vector<RankRun> runs_of(const std::vector<int>& bits) {
  std::vector<RankRun> runs;
  for (std::size_t i = 0; i < bits.size(); ++i) {
    if (i > 0 && bits[i] == bits[i - 1] + 1) {
      runs.back().size *= 2;
    } else {
      runs.push_back({.stride = 1 << bits[i], .size = 2});
    }
  }
  return runs;
}

class Deriver {
 public:
  Deriver(const OpGraph& graph, const Sharding& sharding, const OperatorCuts& cuts,
          const TensorLayout& stream)
      : graph_(graph), sharding_(sharding), stream_(stream) {
    for (const Op& op : graph.ops) {
      bits_.push_back(deal_bits(factors_of_op(graph, op, sharding, cuts), sharding.tensor));
    }
    for (TensorId id = 0; id < static_cast<TensorId>(graph.tensors.size()); ++id) {
      stored_.push_back(stored_layout(id));
    }
  }

  ShardedBlock run() && {
    for (OpId id = 0; id < static_cast<OpId>(graph_.ops.size()); ++id) {
      out_.repeats.push_back(bits(id).repeats);
      add_inputs(id);
      add_outputs(id);
      add_statistics(id);
      add_weights(id);
    }
    resize();
    return std::move(out_);
  }

 private:
  const Op& op(OpId id) const { return graph_.ops[static_cast<std::size_t>(id)]; }
  const OpBits& bits(OpId id) const { return bits_[static_cast<std::size_t>(id)]; }
  const Tensor& tensor(TensorId id) const { return graph_.tensors[static_cast<std::size_t>(id)]; }
  const TensorLayout& stored(TensorId id) const { return stored_[static_cast<std::size_t>(id)]; }

  static bool normalises(const Op& op) { return op.cls == models::OpClass::normalization; }

  /// Where `op` leaves its output, summands included.
  TensorLayout made(OpId id, const Operand& output) const {
    TensorLayout layout = layout_of(output.shape, bits(id));
    if (!normalises(op(id))) { layout.partial = missing_bits(output.shape, bits(id)); }
    return layout;
  }

  /// What the readers of `id` want, or nothing when they differ.
  std::optional<TensorLayout> wanted(TensorId id) const {
    std::optional<TensorLayout> layout;
    for (OpId reader = 0; reader < static_cast<OpId>(graph_.ops.size()); ++reader) {
      for (const Operand& in : op(reader).inputs) {
        if (in.tensor != id) { continue; }
        TensorLayout here = layout_of(in.shape, bits(reader));
        if (here.dims.size() != tensor(id).shape.size()) { return std::nullopt; }
        if (layout && *layout != here) { return std::nullopt; }
        layout = std::move(here);
      }
    }
    return layout;
  }

  TensorLayout stored_layout(TensorId id) const {
    const Tensor& t = tensor(id);
    const bool flows = id == graph_.input || id == graph_.memory || id == graph_.output;
    if (flows && t.shape.size() == stream_.dims.size()) { return stream_; }
    if (t.role == Role::weight || t.producer == models::kNoOp) { return first_reading(id); }
    for (const Operand& output : op(t.producer).outputs) {
      if (output.tensor != id) { continue; }
      TensorLayout layout = fitted(made(t.producer, output), output.shape, t.shape);
      if (layout.partial.empty()) { return layout; }
      return wanted(id).value_or(summed(layout));
    }
    return TensorLayout{.dims = {t.shape.size(), std::vector<int>{}}};
  }

  /// Weights and what is given from outside lie where they are read.
  TensorLayout first_reading(TensorId id) const {
    for (OpId reader = 0; reader < static_cast<OpId>(graph_.ops.size()); ++reader) {
      for (const auto* list : {&op(reader).inputs, &op(reader).weights}) {
        for (const Operand& operand : *list) {
          if (operand.tensor == id) { return layout_of(tensor(id).shape, bits(reader)); }
        }
      }
    }
    return TensorLayout{.dims = {tensor(id).shape.size(), std::vector<int>{}}};
  }

  /// A layout of `from`'s dimensions as those of `to`: by place, or by name when an operator sees
  /// fewer dimensions than there are.
  static TensorLayout fitted(const TensorLayout& layout, const Shape& from, const Shape& to) {
    if (from.size() == to.size()) { return layout; }
    TensorLayout fit{.dims = {to.size(), std::vector<int>{}}, .partial = layout.partial};
    for (std::size_t i = 0; i < to.size(); ++i) {
      for (std::size_t j = 0; j < from.size(); ++j) {
        if (cut_axis(from[j].axis) == cut_axis(to[i].axis)) { fit.dims[i] = layout.dims[j]; }
      }
    }
    return fit;
  }

  /// The collectives that take `operand` from one layout to another.
  void add(OpId id, const Operand& operand, const std::pair<TensorLayout, TensorLayout>& way,
           std::vector<ShardComm>& comms) const {
    Resharding moved{.extent = {}, .element = size_of(tensor(operand.tensor).dtype)};
    for (const Dim& dim : operand.shape) { moved.extent.push_back(padded(dim)); }
    for (const ReshardStep& step : reshard(way.first, way.second, moved)) {
      if (step.op) { comms.push_back({id, *step.op, step.ranks, step.size}); }
    }
  }

  /// Every rank has at least one key/value head.
  std::int64_t padded(const Dim& dim) const {
    if (dim.axis == Axis::kv_heads) { return std::max<std::int64_t>(dim.size, sharding_.tensor); }
    return dim.size;
  }

  void add_inputs(OpId id) {
    for (const Operand& in : op(id).inputs) {
      const Tensor& t = tensor(in.tensor);
      if (t.role != Role::activation) { continue; }
      const TensorLayout here = layout_of(in.shape, bits(id));
      const TensorLayout there = fitted(stored(in.tensor), t.shape, in.shape);
      add(id, in, {there, here}, out_.before_forward);
      if (!op(id).input_needs_gradient) { continue; }
      TensorLayout gradient = here;
      gradient.partial = missing_bits(in.shape, bits(id));
      add(id, in, {gradient, there}, out_.after_backward_input);
    }
  }

  void add_outputs(OpId id) {
    for (const Operand& output : op(id).outputs) {
      const Tensor& t = tensor(output.tensor);
      if (t.role != Role::activation) { continue; }
      const TensorLayout here = made(id, output);
      const TensorLayout there = fitted(stored(output.tensor), t.shape, output.shape);
      add(id, output, {here, there}, out_.after_forward);
      add(id, output, {there, summed(here)}, out_.before_backward);
    }
  }

  void add_statistics(OpId id) {
    const Op& o = op(id);
    if (!normalises(o)) { return; }
    const Shape rows(o.space.begin(), o.space.end() - o.reduced);
    std::int64_t count = 1;
    for (const Dim& dim : rows) { count *= dim.size / shards(bits(id).of(dim.axis)); }
    for (const RankRun& ranks : runs_of(missing_bits(rows, bits(id)))) {
      const auto add_all = [&](const RowStatistics& s, std::vector<ShardComm>& comms) {
        const Bytes size = count * s.numbers * Bytes{size_of(models::DType::fp32)};
        comms.insert(comms.end(), static_cast<std::size_t>(s.collectives),
                     {id, CollectiveOp::all_reduce, ranks, size});
      };
      add_all(forward_statistics(o.kind), out_.after_forward);
      add_all(backward_statistics(o.kind), out_.after_backward_input);
    }
  }

  void add_weights(OpId id) {
    for (const Operand& w : op(id).weights) {
      const Shape& shape = tensor(w.tensor).shape;
      for (const RankRun& ranks : runs_of(missing_bits(shape, bits(id)))) {
        add_shared(out_.shared, ranks, models::elements(part(shape, stored(w.tensor))));
      }
    }
  }

  Shape part(Shape shape, const TensorLayout& layout) const {
    for (std::size_t i = 0; i < shape.size(); ++i) {
      shape[i].size = part_of_axis(shape[i], shards(layout.dims[i]));
    }
    return shape;
  }

  /// A key/value head is never cut; a fused projection has query, key and value heads.
  std::int64_t part_of_axis(const Dim& dim, int parts) const {
    const std::int64_t kv = std::max<std::int64_t>(1, sharding_.kv_heads / parts);
    if (parts == 1) { return dim.size; }
    if (dim.axis == Axis::kv_heads) { return kv; }
    if (dim.axis == Axis::qkv) { return sharding_.heads / parts + 2 * kv; }
    return (dim.size + parts - 1) / parts;
  }

  void resize() {
    out_.graph = graph_;
    for (std::size_t i = 0; i < out_.graph.ops.size(); ++i) {
      Op& o = out_.graph.ops[i];
      const TensorLayout space = layout_of(o.space, bits_[i]);
      o.space = part(std::move(o.space), space);
      for (auto* operands : {&o.inputs, &o.weights, &o.outputs}) {
        for (Operand& operand : *operands) {
          const TensorLayout layout = layout_of(operand.shape, bits_[i]);
          operand.shape = part(std::move(operand.shape), layout);
        }
      }
    }
    for (std::size_t i = 0; i < out_.graph.tensors.size(); ++i) {
      Tensor& t = out_.graph.tensors[i];
      t.shape = part(std::move(t.shape), stored_[i]);
    }
  }

  const OpGraph& graph_;
  const Sharding& sharding_;
  const TensorLayout& stream_;
  std::vector<OpBits> bits_;
  std::vector<TensorLayout> stored_;
  ShardedBlock out_;
};

}  // namespace

TensorLayout stream_layout(const models::Model& model, const Sharding& sharding,
                           const OperatorCuts& cuts) {
  for (const models::Block& block : model.blocks) {
    const OpGraph& graph = block.graph;
    if (block.kind != models::BlockKind::layer || graph.output < 0) { continue; }
    const Tensor& out = graph.tensors[static_cast<std::size_t>(graph.output)];
    if (out.producer == models::kNoOp) { continue; }
    const Op& last = graph.ops[static_cast<std::size_t>(out.producer)];
    const AxisFactors factors = factors_of_op(graph, last, sharding, cuts);
    return layout_of(out.shape, deal_bits(factors, sharding.tensor));
  }
  return TensorLayout{.dims = {3, std::vector<int>{}}};
}

ShardedBlock shard_operators(const OpGraph& graph, const Sharding& sharding,
                             const OperatorCuts& cuts, const TensorLayout& stream) {
  assert(is_power_of_two(sharding.tensor));
  return Deriver(graph, sharding, cuts, stream).run();
}

}  // namespace tsim::strategies
