#include "strategies/fold.hpp"

#include <algorithm>

namespace tsim::strategies {
namespace {

using cost::CollectiveOp;

bool one_kind_of_device(const cost::Topology& topology) {
  const auto& kinds = topology.device_kind;
  return std::all_of(kinds.begin(), kinds.end(), [&](auto k) { return k == kinds.front(); });
}

/// What the check of one stage needs.
struct StageMessages {
  Bytes activation;
  Bytes gradients;
};

/// All groups of one simulated place at `stage` against their folded copies.
bool alike_at(FoldedAxes axes, const Layout& layout, const Place& place, StageMessages sizes,
              int next, CommTable& table) {
  const auto all_reduce = [&](const GroupCopies& copies, Bytes size) {
    return copies.front().size() < 2 || table.alike(CollectiveOp::all_reduce, copies, size);
  };
  if (!all_reduce(tensor_copies(layout, axes, place.data, place.stage), sizes.activation) ||
      !all_reduce(data_copies(layout, axes, place.tensor, place.stage), sizes.gradients)) {
    return false;
  }
  if (next < 0) { return true; }
  for (const std::vector<int>& pair :
       {std::vector<int>{place.stage, next}, std::vector<int>{next, place.stage}}) {
    const auto copies = stage_copies(layout, axes, place.tensor, place.data, pair);
    if (!table.alike(CollectiveOp::send_recv, copies, sizes.activation)) { return false; }
  }
  return true;
}

bool foldable(FoldedAxes axes, const Strategy& strategy, const std::vector<StagePlan>& stages,
              CommTable& table) {
  const Layout layout(strategy);
  const Bytes element{size_of(strategy.precision.reduction)};
  for (int stage = 0; stage < strategy.pipeline; ++stage) {
    const StagePlan& plan = stages[static_cast<std::size_t>(stage)];
    const StageMessages sizes{std::max(plan.chunks.front().output, Bytes{1}),
                              plan.elements * element};
    int next = stage + 1 < strategy.pipeline ? stage + 1 : -1;
    if (next < 0 && strategy.chunks > 1 && strategy.pipeline > 1) { next = 0; }
    for (int d = 0; d < (axes.data ? 1 : strategy.data); ++d) {
      for (int t = 0; t < (axes.tensor ? 1 : strategy.tensor); ++t) {
        if (!alike_at(axes, layout, {t, d, stage}, sizes, next, table)) { return false; }
      }
    }
  }
  return true;
}

}  // namespace

FoldedAxes foldable_axes(const Strategy& strategy, const std::vector<StagePlan>& stages,
                         const cost::Topology& topology, cost::Router& router) {
  if (!one_kind_of_device(topology)) { return {}; }
  CommTable table(topology, router, strategy.collective);
  for (const FoldedAxes axes :
       {FoldedAxes{true, true}, FoldedAxes{true, false}, FoldedAxes{false, true}}) {
    if (foldable(axes, strategy, stages, table)) { return axes; }
  }
  return {};
}

GroupCopies tensor_copies(const Layout& layout, FoldedAxes folded, int data, int stage) {
  GroupCopies copies{layout.tensor_group(data, stage)};
  for (int d = 0; folded.data && d < layout.data(); ++d) {
    if (d != data) { copies.push_back(layout.tensor_group(d, stage)); }
  }
  return copies;
}

GroupCopies data_copies(const Layout& layout, FoldedAxes folded, int tensor, int stage) {
  GroupCopies copies{layout.data_group(tensor, stage)};
  for (int t = 0; folded.tensor && t < layout.tensor(); ++t) {
    if (t != tensor) { copies.push_back(layout.data_group(t, stage)); }
  }
  return copies;
}

GroupCopies stage_copies(const Layout& layout, FoldedAxes folded, int tensor, int data,
                         const std::vector<int>& stages) {
  GroupCopies copies;
  const auto add = [&](int t, int d) {
    std::vector<int> group;
    for (const int stage : stages) { group.push_back(layout.rank({t, d, stage})); }
    copies.push_back(std::move(group));
  };
  add(tensor, data);
  for (int d = 0; d < (folded.data ? layout.data() : 1); ++d) {
    for (int t = 0; t < (folded.tensor ? layout.tensor() : 1); ++t) {
      const int real_t = folded.tensor ? t : tensor;
      const int real_d = folded.data ? d : data;
      if (real_t != tensor || real_d != data) { add(real_t, real_d); }
    }
  }
  return copies;
}

}  // namespace tsim::strategies
