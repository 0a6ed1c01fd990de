#include "strategies/remade.hpp"

#include <algorithm>
#include <iterator>

#include "models/kept_format.hpp"

namespace tsim::strategies {
namespace {

using models::Op;
using models::OpGraph;
using models::OpId;
using models::OpKind;
using models::Part;
using models::TensorId;

std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }

bool holds(const std::vector<TensorId>& ids, TensorId id) {
  return std::ranges::find(ids, id) != ids.end();
}

OpId producer(const OpGraph& graph, TensorId id) { return graph.tensors[index(id)].producer; }

bool saved_outside_core(const OpGraph& graph, TensorId id) {
  return std::ranges::any_of(graph.ops, [id](const Op& op) {
    return op.part != Part::attention_core && holds(op.saved, id);
  });
}

/// All but the layer's input, and everything runs.
Remade of_whole_layer(const OpGraph& graph, const std::vector<TensorId>& saved) {
  Remade result{std::vector<bool>(graph.ops.size(), true), {}, {}};
  for (const TensorId id : saved) {
    (id == graph.input ? result.kept : result.made_again).push_back(id);
  }
  if (graph.input >= 0 && !holds(saved, graph.input)) { result.kept.push_back(graph.input); }
  return result;
}

/// What the attention core makes and needs itself   [arXiv:2205.05198, sec. 5].
Remade of_core(const OpGraph& graph, const std::vector<TensorId>& saved) {
  Remade result{std::vector<bool>(graph.ops.size(), false), {}, {}};
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    result.runs_again[i] = graph.ops[i].part == Part::attention_core;
  }
  for (const TensorId id : saved) {
    const OpId by = producer(graph, id);
    const bool made = by != models::kNoOp && result.runs_again[index(by)];
    (made && !saved_outside_core(graph, id) ? result.made_again : result.kept).push_back(id);
  }
  return result;
}

/// Whether the operator only turns what it reads into another form, or ends a product.
bool is_form(OpKind kind) {
  return kind == OpKind::cast || kind == OpKind::rotary || kind == OpKind::reshape ||
         kind == OpKind::bias;
}

/// Operators that may run again: those named, and the forms of what they make.
std::vector<bool> named(const OpGraph& graph, const std::vector<std::string>& names) {
  std::vector<bool> list(graph.ops.size(), false);
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[i];
    const auto is_made = [&](const models::Operand& in) {
      const OpId by = producer(graph, in.tensor);
      return by != models::kNoOp && list[index(by)];
    };
    list[i] =
        std::ranges::any_of(names, [&op](const auto& name) { return models::means(name, op); }) ||
        (is_form(op.kind) && std::ranges::any_of(op.inputs, is_made));
  }
  return list;
}

/// Whether `id` is a narrower copy of what its producer reads, which the producer can start from.
bool is_copy_of_input(const OpGraph& graph, TensorId id) {
  const Op& by = graph.ops[index(producer(graph, id))];
  return std::ranges::any_of(by.inputs, [&](const models::Operand& in) {
    return models::kept_copy(graph, by, in.tensor) == id;
  });
}

/// From what would be kept back to what is there.
Remade of_operators(const OpGraph& graph, const std::vector<TensorId>& saved,
                    const std::vector<bool>& may_run) {
  Remade result{std::vector<bool>(graph.ops.size(), false), {}, {}};
  std::vector<OpId> open;
  const auto run = [&](OpId op) {
    if (result.runs_again[index(op)]) { return; }
    result.runs_again[index(op)] = true;
    open.push_back(op);
  };
  for (const TensorId id : saved) {
    const OpId by = producer(graph, id);
    const bool made = by != models::kNoOp && may_run[index(by)] && !is_copy_of_input(graph, id);
    (made ? result.made_again : result.kept).push_back(id);
    if (made) { run(by); }
  }
  while (!open.empty()) {
    const Op& op = graph.ops[index(open.back())];
    open.pop_back();
    for (const models::Operand& in : op.inputs) {
      if (in.tensor == graph.memory || holds(result.kept, in.tensor)) { continue; }
      if (models::kept_copy(graph, op, in.tensor) >= 0) { continue; }
      const OpId by = producer(graph, in.tensor);
      const bool given = graph.tensors[index(in.tensor)].role == models::Role::index;
      if (given && by == models::kNoOp) { continue; }  // ids and masks are there all the time
      if (by != models::kNoOp && may_run[index(by)]) {
        run(by);
      } else {
        result.kept.push_back(in.tensor);
      }
    }
  }
  return result;
}

}  // namespace

Remade remade(const OpGraph& graph, Recompute recompute, const Strategy& strategy) {
  const std::vector<TensorId> saved = models::saved_tensors(graph, strategy.fusion);
  switch (recompute) {
    case Recompute::none: break;
    case Recompute::selective: return of_core(graph, saved);
    case Recompute::full: return of_whole_layer(graph, saved);
    case Recompute::operators:
      return of_operators(graph, saved, named(graph, strategy.recompute_operators));
  }
  return {std::vector<bool>(graph.ops.size(), false), saved, {}};
}

std::vector<models::Kernel> kernels_again(const std::vector<models::Kernel>& forward,
                                          const Remade& remade) {
  std::vector<models::Kernel> again;
  std::ranges::copy_if(forward, std::back_inserter(again), [&remade](const models::Kernel& k) {
    return std::ranges::any_of(k.ops, [&](OpId op) { return remade.runs_again[index(op)]; });
  });
  return again;
}

}  // namespace tsim::strategies
