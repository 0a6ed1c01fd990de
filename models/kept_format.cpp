#include "models/kept_format.hpp"

#include <algorithm>
#include <utility>

namespace tsim::models {
namespace {

std::string name_of_copy(const Tensor& whole) { return whole.name + ".kept"; }

class Keeper {
 public:
  explicit Keeper(OpGraph graph) : graph_(std::move(graph)) {}

  void apply(const KeptFormat& format) {
    for (Op& op : graph_.ops) {
      if (!means(format.operators, op)) { continue; }
      for (TensorId& kept : op.saved) {
        if (narrows(kept, format.format)) { kept = copy_in(op, kept, format.format); }
      }
    }
  }
  OpGraph graph() && { return std::move(graph_); }

 private:
  bool narrows(TensorId id, DType format) const {
    const Tensor& t = graph_.tensors[static_cast<std::size_t>(id)];
    return t.role == Role::activation && size_of(format) < size_of(t.dtype);
  }

  /// What `op` writes besides, for its backward alone.
  TensorId copy_in(Op& op, TensorId id, DType format) {
    const auto self = static_cast<OpId>(&op - graph_.ops.data());
    const Tensor& whole = graph_.tensors[static_cast<std::size_t>(id)];
    Tensor copy{.name = name_of_copy(whole),
                .shape = seen_by(op, id),
                .dtype = format,
                .role = Role::statistic,
                .producer = self};
    if (copy.shape.empty()) { copy.shape = whole.shape; }
    const auto made = static_cast<TensorId>(graph_.tensors.size());
    op.outputs.push_back({made, copy.shape});
    graph_.tensors.push_back(std::move(copy));
    return made;
  }

  static Shape seen_by(const Op& op, TensorId id) {
    for (const auto* list : {&op.inputs, &op.outputs}) {
      for (const Operand& operand : *list) {
        if (operand.tensor == id) { return operand.shape; }
      }
    }
    return {};
  }

  OpGraph graph_;
};

}  // namespace

bool means(std::string_view name, const Op& op) {
  return op.name == name || name_of(op.part) == name || name_of(op.kind) == name;
}

TensorId kept_copy(const OpGraph& graph, const Op& op, TensorId id) {
  const auto tensor = [&graph](TensorId t) -> const Tensor& {
    return graph.tensors[static_cast<std::size_t>(t)];
  };
  const std::string name = name_of_copy(tensor(id));
  const auto at =
      std::ranges::find_if(op.saved, [&](TensorId kept) { return tensor(kept).name == name; });
  return at == op.saved.end() ? -1 : *at;
}

OpGraph keep_in_formats(OpGraph graph, const std::vector<KeptFormat>& formats) {
  Keeper keeper(std::move(graph));
  for (const KeptFormat& format : formats) { keeper.apply(format); }
  return std::move(keeper).graph();
}

}  // namespace tsim::models
