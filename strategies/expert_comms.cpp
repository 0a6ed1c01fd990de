#include "strategies/expert_comms.hpp"

#include <algorithm>

#include "models/stored_format.hpp"
#include "strategies/shadows.hpp"

namespace tsim::strategies {
namespace {

using cost::CollectiveOp;
using models::DType;
using models::Op;
using models::OpGraph;
using models::OpId;
using models::OpKind;

/// Elements of a quantised row that share an fp32 scale [arXiv:2412.19437, sec. 3.3.2].
constexpr std::int64_t kScaled = 128;

class ExpertComms {
 public:
  ExpertComms(const OpGraph& graph, const Sharding& s, TensorComms& comms)
      : graph_(graph), s_(s), comms_(comms) {}

  void add() {
    for (std::size_t i = 0; i < graph_.ops.size(); ++i) {
      const Op& op = graph_.ops[i];
      if (op.kind == OpKind::dispatch) { dispatch_ = static_cast<OpId>(i); }
      if (op.kind == OpKind::combine) { add_between(dispatch_, static_cast<OpId>(i)); }
    }
  }

 private:
  const Op& op(OpId id) const { return graph_.ops[static_cast<std::size_t>(id)]; }

  DType kept(const models::Operand& operand) const {
    return models::stored_format(graph_.tensors[static_cast<std::size_t>(operand.tensor)].dtype);
  }

  static Bytes on_wire(std::int64_t elements, DType format) {
    const Bytes values = elements * Bytes{models::size_of(format)};
    return models::size_of(format) > 1 ? values : values + (elements / kScaled) * Bytes{4};
  }

  Communication over_experts(CollectiveOp kind, Bytes size, int layer = 0) const {
    return {kind, {GroupAxis::plane, s_.experts.ranks, s_.experts.tensor}, Stream::ep, size, layer};
  }
  Communication inside_expert(CollectiveOp kind, Bytes size) const {
    return {kind, {GroupAxis::plane, s_.experts.tensor, 1}, Stream::ep, size};
  }
  Communication over_tensor(CollectiveOp kind, Bytes size) const {
    return {kind, {GroupAxis::tensor, s_.tensor}, Stream::tp, size};
  }

  void add_between(OpId dispatch, OpId combine) {
    if (s_.experts.ranks > 1 && s_.experts.gathers) {
      add_gathers(dispatch, combine);
    } else if (s_.experts.ranks > 1 || (s_.experts.tensor > 1 && s_.experts.cuts_tokens)) {
      add_rows(dispatch, combine);
    }
    if (s_.tensor > 1 && !s_.sequence_parallel) { add_over_tensor(dispatch, combine); }
  }

  /// Rows on their way: to the experts, whole there, parts again, back.
  void add_rows(OpId dispatch, OpId combine) {
    const models::Operand& rows = op(dispatch).outputs.front();
    const std::int64_t elements = models::elements(rows.shape);
    const DType dtype = kept(rows);
    const Bytes there = on_wire(elements, s_.experts.dispatch_format.value_or(dtype));
    const Bytes back = on_wire(elements, s_.experts.combine_format.value_or(dtype));
    const bool gathers = s_.experts.tensor > 1 && s_.experts.cuts_tokens;
    const auto to_experts = [&](std::vector<OpComm>& list, OpId at) {
      if (s_.experts.ranks > 1) {
        list.push_back({at, over_experts(CollectiveOp::all_to_all, there, s_.experts.layer)});
      }
      if (gathers) {
        list.push_back({at, inside_expert(CollectiveOp::all_gather, s_.experts.tensor * there)});
      }
    };
    const auto from_experts = [&](std::vector<OpComm>& list, OpId at) {
      if (gathers) {
        list.push_back(
            {at, inside_expert(CollectiveOp::reduce_scatter,
                               s_.experts.tensor * elements * Bytes{models::size_of(dtype)})});
      }
      if (s_.experts.ranks > 1) {
        list.push_back({at, over_experts(CollectiveOp::all_to_all, back, -s_.experts.layer)});
      }
    };
    add_shadows(CollectiveOp::broadcast, dispatch, comms_.before_forward);
    to_experts(comms_.after_forward, dispatch);
    from_experts(comms_.before_forward, combine);
    to_experts(comms_.after_backward_input, combine);
    add_shadows(CollectiveOp::reduce, dispatch, comms_.before_backward);
    from_experts(comms_.before_backward, dispatch);
  }

  /// Shadowed experts come from their ranks, and their gradients go back there.
  void add_shadows(CollectiveOp kind, OpId dispatch, std::vector<OpComm>& list) const {
    if (s_.experts.shadow_owners.empty()) { return; }
    const Bytes size = bytes_of_expert(graph_);
    for (const int owner : s_.experts.shadow_owners) {
      Communication comm = over_experts(kind, size);
      comm.root = owner;
      list.push_back({dispatch, comm});
    }
  }

  /// All tokens everywhere.
  void add_gathers(OpId dispatch, OpId combine) {
    const models::Operand& tokens = op(dispatch).inputs.front();
    const std::int64_t elements = models::elements(tokens.shape);
    const DType dtype = kept(tokens);
    const Bytes there = on_wire(elements, s_.experts.dispatch_format.value_or(dtype));
    const Bytes back = on_wire(elements, s_.experts.combine_format.value_or(dtype));
    comms_.before_forward.push_back({dispatch, over_experts(CollectiveOp::all_gather, there)});
    comms_.after_forward.push_back({combine, over_experts(CollectiveOp::reduce_scatter, back)});
    comms_.before_backward.push_back({combine, over_experts(CollectiveOp::all_gather, there)});
    comms_.after_backward_input.push_back(
        {dispatch, over_experts(CollectiveOp::reduce_scatter, back)});
  }

  /// Every tensor rank has all tokens outside the experts.
  void add_over_tensor(OpId dispatch, OpId combine) {
    const models::Operand& out = op(combine).outputs.front();
    const auto& whole = graph_.tensors[static_cast<std::size_t>(out.tensor)].shape;
    const Bytes size = models::elements(whole) * Bytes{models::size_of(kept(out))};
    const CollectiveOp kind =
        s_.experts.cuts_tokens ? CollectiveOp::all_gather : CollectiveOp::all_reduce;
    comms_.after_forward.push_back({combine, over_tensor(kind, size)});
    comms_.after_backward_input.push_back({dispatch, over_tensor(kind, size)});
  }

  const OpGraph& graph_;
  const Sharding& s_;
  TensorComms& comms_;
  OpId dispatch_ = models::kNoOp;
};

}  // namespace

void add_expert_comms(const OpGraph& sharded, const Sharding& sharding, TensorComms& comms) {
  ExpertComms(sharded, sharding, comms).add();
}

}  // namespace tsim::strategies
