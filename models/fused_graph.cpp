#include "models/fused_graph.hpp"

#include <algorithm>

namespace tsim::models {
namespace {

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

/// Whether the operator's result follows from its first input and a vector or scalar.
bool is_cheap_shift(const Op& op) {
  return op.kind == OpKind::bias || op.kind == OpKind::scale || op.kind == OpKind::mask;
}

}  // namespace

bool FusedGraph::made_in(TensorId id, std::size_t g) const {
  const OpId producer = tensor(id).producer;
  return producer != kNoOp && group(producer) == g;
}

bool FusedGraph::read_outside(TensorId id) const {
  if (id == graph.output || id == graph.memory) { return true; }
  const std::vector<OpId>& all = readers_of(id);
  return std::any_of(all.begin(), all.end(),
                     [&](OpId reader) { return !made_in(id, group(reader)); });
}

std::vector<OpId> FusedGraph::readers_in(TensorId id, std::size_t g) const {
  std::vector<OpId> found;
  std::copy_if(readers_of(id).begin(), readers_of(id).end(), std::back_inserter(found),
               [&](OpId reader) { return group(reader) == g; });
  return found;
}

FusedGraph fused_graph(const OpGraph& graph, Fusion fusion) {
  FusedGraph f{.graph = graph,
               .fusion = fusion,
               .groups = fuse(graph, fusion),
               .group_of = std::vector<std::size_t>(graph.ops.size()),
               .readers = std::vector<std::vector<OpId>>(graph.tensors.size()),
               .kept = std::vector<bool>(graph.tensors.size())};
  for (std::size_t g = 0; g < f.groups.size(); ++g) {
    for (const OpId op : f.groups[g]) { f.group_of[at(op)] = g; }
  }
  for (std::size_t op = 0; op < graph.ops.size(); ++op) {
    const OpId id = static_cast<OpId>(op);
    for (const Operand& input : graph.ops[op].inputs) {
      std::vector<OpId>& all = f.readers[at(input.tensor)];
      if (all.empty() || all.back() != id) { all.push_back(id); }
    }
    for (const TensorId t : graph.ops[op].saved) {
      f.kept[at(t)] = fusion != Fusion::full || graph.tensors[at(t)].role != Role::mask;
    }
  }
  return f;
}

TensorId stored_instead(const FusedGraph& f, TensorId id) {
  if (f.tensor(id).producer == kNoOp || f.readers_of(id).empty() || f.read_outside(id)) {
    return id;
  }
  const std::size_t g = f.group(f.tensor(id).producer);
  TensorId source = id;
  while (f.made_in(source, g)) {
    const Op& producer = f.op(f.tensor(source).producer);
    if (!is_cheap_shift(producer)) { return id; }
    source = producer.inputs.front().tensor;
  }
  return source;
}

bool is_written(const FusedGraph& f, TensorId id) {
  if (f.read_outside(id)) { return true; }
  if (f.is_kept(id)) { return stored_instead(f, id) == id; }
  return f.readers_of(id).empty() && f.tensor(id).role == Role::activation;
}

Bytes size_of(const OpGraph& graph, const Operand& operand) {
  return elements(operand.shape) * Bytes{size_of(graph.tensors[at(operand.tensor)].dtype)};
}

void Traffic::add(bool gradient, const Operand& operand) {
  const bool whole = operand.shape == graph_.tensors[at(operand.tensor)].shape;
  const bool known = whole && std::any_of(seen_.begin(), seen_.end(), [&](const Seen& s) {
                       return s.gradient == gradient && s.operand == operand;
                     });
  if (known) { return; }
  seen_.push_back({gradient, operand});
  bytes_ += size_of(graph_, operand);
}

std::vector<TensorId> saved_tensors(const OpGraph& graph, Fusion fusion) {
  std::vector<TensorId> saved = saved_tensors(graph);
  if (fusion != Fusion::full) { return saved; }
  const FusedGraph f = fused_graph(graph, fusion);
  std::erase_if(saved, [&](TensorId t) { return f.tensor(t).role == Role::mask; });
  for (TensorId& t : saved) { t = stored_instead(f, t); }
  std::sort(saved.begin(), saved.end());
  saved.erase(std::unique(saved.begin(), saved.end()), saved.end());
  return saved;
}

}  // namespace tsim::models
