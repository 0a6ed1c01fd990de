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
class Rerun {
 public:
  Rerun(const OpGraph& graph, const std::vector<bool>& may_run)
      : graph_(graph),
        may_run_(may_run),
        result_{std::vector<bool>(graph.ops.size(), false), {}, {}} {}

  Remade of(const std::vector<TensorId>& saved) && {
    for (const TensorId id : saved) {
      const bool made = can_make(id) && !is_copy_of_input(graph_, id);
      (made ? result_.made_again : result_.kept).push_back(id);
      if (made) { run(producer(graph_, id)); }
    }
    while (!open_.empty()) {
      const Op& op = graph_.ops[index(open_.back())];
      open_.pop_back();
      for (const models::Operand& in : op.inputs) { need(op, in.tensor); }
    }
    return std::move(result_);
  }

 private:
  bool can_make(TensorId id) const {
    const OpId by = producer(graph_, id);
    return by != models::kNoOp && may_run_[index(by)];
  }

  void run(OpId op) {
    if (result_.runs_again[index(op)]) { return; }
    result_.runs_again[index(op)] = true;
    open_.push_back(op);
  }

  /// Ids and masks, and a decoder's memory.
  bool is_always_there(TensorId id) const {
    const bool given = graph_.tensors[index(id)].role == models::Role::index;
    return id == graph_.memory || (given && producer(graph_, id) == models::kNoOp);
  }

  /// What `op` reads when it runs again.
  void need(const Op& op, TensorId id) {
    const bool there = is_always_there(id) || holds(result_.kept, id);
    if (there || models::kept_copy(graph_, op, id) >= 0) { return; }
    if (can_make(id)) {
      run(producer(graph_, id));
    } else {
      result_.kept.push_back(id);
    }
  }

  const OpGraph& graph_;
  const std::vector<bool>& may_run_;
  Remade result_;
  std::vector<OpId> open_;
};

}  // namespace

Remade remade(const OpGraph& graph, Recompute recompute, const Strategy& strategy) {
  const std::vector<TensorId> saved = models::saved_tensors(graph, strategy.fusion);
  switch (recompute) {
    case Recompute::none: break;
    case Recompute::selective: return of_core(graph, saved);
    case Recompute::full: return of_whole_layer(graph, saved);
    case Recompute::operators:
      return Rerun(graph, named(graph, strategy.recompute_operators)).of(saved);
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
