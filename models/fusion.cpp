// Which operators share a kernel.
#include <algorithm>
#include <set>

#include "models/kernel.hpp"

namespace tsim::models {
namespace {

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

/// Operators in groups, and the edges between them.
class Groups {
 public:
  explicit Groups(const OpGraph& graph) : group_of_(graph.ops.size()) {
    for (std::size_t op = 0; op < graph.ops.size(); ++op) {
      group_of_[op] = op;
      members_.push_back({static_cast<OpId>(op)});
      for (const Operand& input : graph.ops[op].inputs) {
        const OpId producer = graph.tensors[at(input.tensor)].producer;
        if (producer != kNoOp) { edges_.emplace_back(producer, static_cast<OpId>(op)); }
      }
    }
  }

  /// Joins the ends of every edge that `may_join` accepts and whose joining makes no cycle, until
  /// none is left.
  template <class Predicate>
  void join(Predicate may_join) {
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto& [producer, consumer] : edges_) {
        const std::size_t a = group_of_[at(producer)];
        const std::size_t b = group_of_[at(consumer)];
        if (a != b && may_join(producer, consumer) && !has_detour(a, b)) {
          merge(a, b);
          changed = true;
        }
      }
    }
  }

  const std::vector<OpId>& members_with(OpId op) const { return members_[group_of_[at(op)]]; }

  /// The groups, each after those it reads from.
  std::vector<std::vector<OpId>> in_order() const {
    std::vector<std::vector<OpId>> order;
    std::set<std::size_t> placed;
    std::set<std::size_t> waiting(group_of_.begin(), group_of_.end());
    while (!waiting.empty()) {
      const auto ready = std::find_if(waiting.begin(), waiting.end(), [&](std::size_t g) {
        return std::all_of(edges_.begin(), edges_.end(), [&](const auto& e) {
          const std::size_t from = group_of_[at(e.first)];
          return group_of_[at(e.second)] != g || from == g || placed.contains(from);
        });
      });
      assert(ready != waiting.end());
      order.push_back(members_[*ready]);
      placed.insert(*ready);
      waiting.erase(ready);
    }
    return order;
  }

 private:
  /// Whether a path leads from group `a` to group `b` through a third one.
  bool has_detour(std::size_t a, std::size_t b) const {
    std::set<std::size_t> seen{a};
    std::vector<std::size_t> open{a};
    while (!open.empty()) {
      const std::size_t g = open.back();
      open.pop_back();
      for (const auto& [producer, consumer] : edges_) {
        const std::size_t next = group_of_[at(consumer)];
        if (group_of_[at(producer)] != g || seen.contains(next)) { continue; }
        if (next == b) {
          if (g != a) { return true; }
          continue;
        }
        seen.insert(next);
        open.push_back(next);
      }
    }
    return false;
  }

  void merge(std::size_t a, std::size_t b) {
    for (const OpId op : members_[b]) { group_of_[at(op)] = a; }
    members_[a].insert(members_[a].end(), members_[b].begin(), members_[b].end());
    std::sort(members_[a].begin(), members_[a].end());
    members_[b].clear();
  }

  std::vector<std::size_t> group_of_;
  std::vector<std::vector<OpId>> members_;
  std::vector<std::pair<OpId, OpId>> edges_;
};

/// The pairs that training frameworks join: Megatron-LM's bias+activation, bias+dropout+add and
/// scale+mask+softmax kernels [arXiv:1909.08053; arXiv:2104.04473, sec. 4.2].
bool framework_joins(const Op& producer, const Op& consumer) {
  if (producer.part == Part::embedding || consumer.part == Part::embedding) { return false; }
  const OpKind p = producer.kind;
  const OpKind c = consumer.kind;
  const bool ends_sublayer = consumer.part == Part::residual;
  switch (p) {
    case OpKind::bias:
      return c == OpKind::activation || c == OpKind::gated_activation ||
             (ends_sublayer && (c == OpKind::dropout || c == OpKind::residual_add));
    case OpKind::dropout: return ends_sublayer && c == OpKind::residual_add;
    case OpKind::scale: return c == OpKind::mask || c == OpKind::softmax;
    case OpKind::mask: return c == OpKind::softmax;
    default: return false;
  }
}

/// A bias that nothing else took is added in the product's epilogue, as nn.Linear's addmm does.
bool is_epilogue(const Groups& groups, const OpGraph& graph, OpId producer, OpId consumer) {
  return is_weight_product(graph.ops[at(producer)].kind) &&
         graph.ops[at(consumer)].kind == OpKind::bias && groups.members_with(consumer).size() == 1;
}

using Extent = std::pair<Axis, std::int64_t>;

std::multiset<Extent> extents(Shape::const_iterator first, Shape::const_iterator last) {
  std::multiset<Extent> found;
  for (; first != last; ++first) { found.emplace(first->axis, first->size); }
  return found;
}

/// The same iteration space, or one is the other after its reduction.
bool compatible(const Op& a, const Op& b) {
  const auto all = [](const Op& op) { return extents(op.space.begin(), op.space.end()); };
  const auto kept = [](const Op& op) {
    return extents(op.space.begin(), op.space.end() - op.reduced);
  };
  return all(a) == all(b) || (a.reduced > 0 && kept(a) == all(b)) ||
         (b.reduced > 0 && kept(b) == all(a));
}

bool groups_compatible(const Groups& groups, const OpGraph& graph, OpId producer, OpId consumer) {
  const auto is_contraction = [&](OpId op) {
    return graph.ops[at(op)].cls == OpClass::contraction;
  };
  const std::vector<OpId>& left = groups.members_with(producer);
  const std::vector<OpId>& right = groups.members_with(consumer);
  return std::all_of(left.begin(), left.end(), [&](OpId a) {
    return !is_contraction(a) && std::all_of(right.begin(), right.end(), [&](OpId b) {
      return !is_contraction(b) && compatible(graph.ops[at(a)], graph.ops[at(b)]);
    });
  });
}

}  // namespace

std::vector<std::vector<OpId>> fuse(const OpGraph& graph, Fusion fusion) {
  Groups groups(graph);
  if (fusion != Fusion::none) {
    groups.join(
        [&](OpId a, OpId b) { return framework_joins(graph.ops[at(a)], graph.ops[at(b)]); });
  }
  if (fusion == Fusion::full) {
    groups.join([&](OpId a, OpId b) { return groups_compatible(groups, graph, a, b); });
  }
  if (fusion != Fusion::none) {
    groups.join([&](OpId a, OpId b) { return is_epilogue(groups, graph, a, b); });
  }
  return groups.in_order();
}

}  // namespace tsim::models
