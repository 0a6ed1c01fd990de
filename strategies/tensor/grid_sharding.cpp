#include "strategies/tensor/grid_sharding.hpp"

#include <algorithm>

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
using models::Shape;
using models::Tensor;

bool along_columns(Axis axis) {
  switch (axis) {
    case Axis::hidden:
    case Axis::qkv:
    case Axis::heads:
    case Axis::kv_heads:
    case Axis::ffn:
    case Axis::gate_ffn:
    case Axis::vocab:
    case Axis::pooled: return true;
    default: return false;
  }
}

class GridDeriver {
 public:
  GridDeriver(const OpGraph& graph, const Sharding& sharding, const TensorGrid& grid)
      : sharding_(sharding),
        grid_(grid),
        row_{.stride = 1, .size = grid.side},
        column_{.stride = grid.side, .size = grid.side} {
    out_.graph = graph;
  }

  ShardedBlock run() && {
    resize();
    for (OpId id = 0; id < static_cast<OpId>(out_.graph.ops.size()); ++id) {
      const Op& o = op(id);
      if (o.kind == OpKind::matmul) {
        add_product(id);
      } else if (o.kind == OpKind::embedding && has_axis(o.space, Axis::vocab)) {
        add_lookup(id);
      }
      add_statistics(id);
      add_weights(id);
    }
    out_.repeats.assign(out_.graph.ops.size(), 1);
    return std::move(out_);
  }

 private:
  const Op& op(OpId id) const { return out_.graph.ops[static_cast<std::size_t>(id)]; }
  const Tensor& tensor(const Operand& operand) const {
    return out_.graph.tensors[static_cast<std::size_t>(operand.tensor)];
  }

  std::int64_t part(const Dim& dim) const {
    const int side = grid_.side;
    if (dim.axis == Axis::batch) { return dim.size / (std::int64_t{side} * grid_.depth); }
    if (dim.axis == Axis::qkv) { return (sharding_.heads + 2 * sharding_.kv_heads) / side; }
    return along_columns(dim.axis) ? dim.size / side : dim.size;
  }

  void divide(Shape& shape, std::size_t count) const {
    for (std::size_t i = 0; i < count; ++i) { shape[i].size = part(shape[i]); }
  }

  /// A product sums over the whole of the axis that its operands are divided along: the panels that
  /// pass by make it up.
  void resize() {
    for (Op& o : out_.graph.ops) {
      const bool panels = o.kind == OpKind::matmul || o.kind == OpKind::embedding;
      divide(o.space, o.space.size() - static_cast<std::size_t>(panels ? o.reduced : 0));
      for (auto* operands : {&o.inputs, &o.weights, &o.outputs}) {
        for (Operand& operand : *operands) { divide(operand.shape, operand.shape.size()); }
      }
    }
    for (Tensor& t : out_.graph.tensors) { divide(t.shape, t.shape.size()); }
  }

  Bytes held(const Operand& operand) const {
    return models::elements(operand.shape) * Bytes{size_of(tensor(operand).dtype)};
  }

  ShardComm along(const RankRun& ranks, OpId id, CollectiveOp kind, Bytes size) const {
    return {id, kind, ranks, size};
  }

  void add_product(OpId id) {
    const Op& o = op(id);
    const Bytes a = held(o.inputs.front());
    const Bytes b = held(o.weights.front());
    const Bytes c = held(o.outputs.front());
    const bool turned = has_axis(o.space, Axis::vocab);  // the table's rows are the vocabulary
    const auto in_row = [&](Bytes size) { return along(row_, id, CollectiveOp::broadcast, size); };
    const auto in_column = [&](Bytes size) {
      return along(column_, id, CollectiveOp::broadcast, size);
    };
    const auto sum_row = [&](Bytes size) { return along(row_, id, CollectiveOp::reduce, size); };
    const ShardComm sum_b = along(column_, id, CollectiveOp::reduce, b);
    if (turned) {
      out_.forward_panels.push_back({id, grid_.side, {in_column(b)}, {sum_row(c)}});
      out_.input_panels.push_back({id, grid_.side, {in_row(c), in_column(b)}, {}});
      out_.weight_panels.push_back({id, grid_.side, {in_row(c)}, {sum_b}});
    } else {
      out_.forward_panels.push_back({id, grid_.side, {in_row(a), in_column(b)}, {}});
      out_.input_panels.push_back({id, grid_.side, {in_column(b)}, {sum_row(a)}});
      out_.weight_panels.push_back({id, grid_.side, {in_row(a)}, {sum_b}});
    }
  }

  /// A lookup is a product with a matrix of zeros and ones, which every rank of a row makes itself.
  void add_lookup(OpId id) {
    const Tensor& table = tensor(op(id).weights.front());
    const Bytes size = models::size_of(table);
    out_.forward_panels.push_back(
        {id, grid_.side, {along(column_, id, CollectiveOp::broadcast, size)}, {}});
    out_.weight_panels.push_back(
        {id, grid_.side, {}, {along(column_, id, CollectiveOp::reduce, size)}});
  }

  void add_statistics(OpId id) {
    const Op& o = op(id);
    const bool divided = o.cls == models::OpClass::normalization &&
                         std::any_of(o.space.end() - o.reduced, o.space.end(),
                                     [](const Dim& d) { return along_columns(d.axis); });
    if (!divided) { return; }
    const std::int64_t rows = models::elements(Shape(o.space.begin(), o.space.end() - o.reduced));
    const auto add = [&](const RowStatistics& s, std::vector<ShardComm>& comms) {
      const Bytes size = rows * s.numbers * Bytes{size_of(models::DType::fp32)};
      comms.insert(comms.end(), static_cast<std::size_t>(s.collectives),
                   along(row_, id, CollectiveOp::all_reduce, size));
    };
    add(forward_statistics(o.kind), out_.after_forward);
    add(backward_statistics(o.kind), out_.after_backward_input);
  }

  void add_weights(OpId id) {
    for (const Operand& w : op(id).weights) {
      const bool in_blocks =
          op(id).kind == OpKind::matmul || has_axis(tensor(w).shape, Axis::vocab);
      const RankRun ranks = in_blocks
                                ? RankRun{.stride = grid_.side * grid_.side, .size = grid_.depth}
                                : RankRun{.stride = grid_.side, .size = grid_.side * grid_.depth};
      add_shared(out_.shared, ranks, models::elements(tensor(w).shape));
    }
  }

  const Sharding& sharding_;
  TensorGrid grid_;
  RankRun row_, column_;
  ShardedBlock out_;
};

}  // namespace

ShardedBlock shard_on_grid(const OpGraph& graph, const Sharding& sharding, const TensorGrid& grid) {
  return GridDeriver(graph, sharding, grid).run();
}

}  // namespace tsim::strategies
