#include "strategies/tensor/reshard.hpp"

#include <algorithm>
#include <cassert>
#include <map>
#include <set>
#include <tuple>

namespace tsim::strategies {
namespace {

using cost::CollectiveOp;
using Bits = std::vector<int>;

/// Bytes first, then communications, then slices.
using Cost = std::tuple<double, int, int>;

struct Move {
  TensorLayout to;
  ReshardStep step;
};

Bits without(Bits bits, std::span<const int> gone) {
  std::erase_if(bits,
                [gone](int b) { return std::find(gone.begin(), gone.end(), b) != gone.end(); });
  return bits;
}

Bits tail(const Bits& bits, std::size_t count) {
  return {bits.end() - static_cast<std::ptrdiff_t>(count), bits.end()};
}

/// The ranks that differ in `bits`, when those are neighbours in falling order.
std::optional<RankRun> run_of(const Bits& bits) {
  for (std::size_t i = 1; i < bits.size(); ++i) {
    if (bits[i] != bits[i - 1] - 1) { return std::nullopt; }
  }
  return RankRun{.stride = 1 << bits.back(), .size = 1 << static_cast<int>(bits.size())};
}

double bytes_received(const ReshardStep& step) {
  if (!step.op) { return 0; }
  const double share = 1.0 - 1.0 / step.ranks.size;
  return (*step.op == CollectiveOp::all_reduce ? 2 : 1) * share * to_double(step.size);
}

/// All single steps from one layout.
class Moves {
 public:
  Moves(const Resharding& tensor, const Bits& all) : tensor_(tensor), all_(all) {}

  std::vector<Move> from(const TensorLayout& at) {
    at_ = &at;
    moves_.clear();
    for (std::size_t dim = 0; dim < at.dims.size(); ++dim) {
      for (std::size_t n = 1; n <= at.dims[dim].size(); ++n) { leave(dim, tail(at.dims[dim], n)); }
    }
    for (const Bits& bits : runs(at.partial)) { add_up(bits); }
    Bits repeated = without(all_, at.partial);
    for (const Bits& bits : at.dims) { repeated = without(repeated, bits); }
    for (const Bits& bits : runs(repeated)) { slice(bits); }
    return std::move(moves_);
  }

 private:
  /// All runs of neighbours in `bits`, each falling.
  static std::vector<Bits> runs(Bits bits) {
    std::sort(bits.begin(), bits.end(), std::greater<>());
    std::vector<Bits> found;
    for (std::size_t begin = 0; begin < bits.size(); ++begin) {
      for (std::size_t end = begin + 1; end <= bits.size(); ++end) {
        const Bits run(bits.begin() + static_cast<std::ptrdiff_t>(begin),
                       bits.begin() + static_cast<std::ptrdiff_t>(end));
        if (run_of(run)) { found.push_back(run); }
      }
    }
    return found;
  }

  Bytes held(const TensorLayout& layout) const {
    std::int64_t elements = tensor_.element;
    for (std::size_t dim = 0; dim < layout.dims.size(); ++dim) {
      const std::int64_t parts = shards(layout.dims[dim]);
      elements *= (tensor_.extent[dim] + parts - 1) / parts;
    }
    return Bytes{elements};
  }

  bool divides(std::size_t dim, const Bits& more) const {
    const std::int64_t parts = std::int64_t{shards(at_->dims[dim])} * shards(more);
    return tensor_.extent[dim] % parts == 0;
  }

  void add(TensorLayout to, std::optional<CollectiveOp> op, const Bits& bits, Bytes size) {
    moves_.push_back({std::move(to), {op, *run_of(bits), size}});
  }

  /// Gathers the last shards of a dimension, or hands them over to another one.
  void leave(std::size_t dim, const Bits& bits) {
    if (!run_of(bits)) { return; }
    TensorLayout gathered = *at_;
    gathered.dims[dim] = without(gathered.dims[dim], bits);
    add(gathered, CollectiveOp::all_gather, bits, held(gathered));
    for (std::size_t other = 0; other < at_->dims.size(); ++other) {
      if (other == dim || !divides(other, bits)) { continue; }
      TensorLayout exchanged = gathered;
      exchanged.dims[other].insert(exchanged.dims[other].end(), bits.begin(), bits.end());
      add(std::move(exchanged), CollectiveOp::all_to_all, bits, held(*at_));
    }
  }

  void add_up(const Bits& bits) {
    TensorLayout sum = *at_;
    sum.partial = without(sum.partial, bits);
    add(sum, CollectiveOp::all_reduce, bits, held(*at_));
    for (std::size_t dim = 0; dim < at_->dims.size(); ++dim) {
      if (!divides(dim, bits)) { continue; }
      TensorLayout scattered = sum;
      scattered.dims[dim].insert(scattered.dims[dim].end(), bits.begin(), bits.end());
      add(std::move(scattered), CollectiveOp::reduce_scatter, bits, held(*at_));
    }
  }

  void slice(const Bits& bits) {
    for (std::size_t dim = 0; dim < at_->dims.size(); ++dim) {
      if (!divides(dim, bits)) { continue; }
      TensorLayout sliced = *at_;
      sliced.dims[dim].insert(sliced.dims[dim].end(), bits.begin(), bits.end());
      add(std::move(sliced), std::nullopt, bits, {});
    }
  }

  const Resharding& tensor_;
  const Bits& all_;
  const TensorLayout* at_ = nullptr;
  std::vector<Move> moves_;
};

Bits bits_in(const TensorLayout& a, const TensorLayout& b) {
  std::set<int> all;
  for (const TensorLayout* layout : {&a, &b}) {
    all.insert(layout->partial.begin(), layout->partial.end());
    for (const Bits& bits : layout->dims) { all.insert(bits.begin(), bits.end()); }
  }
  return {all.begin(), all.end()};
}

/// How a layout was reached first.
struct Reached {
  Cost cost;
  TensorLayout before;
  ReshardStep step;
};

std::vector<ReshardStep> way_to(const TensorLayout& from, const TensorLayout& to,
                                const std::map<TensorLayout, Reached>& reached) {
  std::vector<ReshardStep> steps;
  for (const TensorLayout* at = &to; *at != from;) {
    const Reached& r = reached.at(*at);
    steps.push_back(r.step);
    at = &r.before;
  }
  std::reverse(steps.begin(), steps.end());
  return steps;
}

Cost after(const Cost& cost, const ReshardStep& step) {
  return {std::get<0>(cost) + bytes_received(step), std::get<1>(cost) + (step.op ? 1 : 0),
          std::get<2>(cost) + (step.op ? 0 : 1)};
}

}  // namespace

// Dijkstra's algorithm over layouts: there are few, since a group has few bits.
std::vector<ReshardStep> reshard(const TensorLayout& from, const TensorLayout& to,
                                 const Resharding& tensor) {
  assert(from.dims.size() == to.dims.size() && from.dims.size() == tensor.extent.size());
  if (from == to) { return {}; }
  const Bits all = bits_in(from, to);
  Moves moves(tensor, all);
  std::map<TensorLayout, Reached> reached{{from, {}}};
  std::set<std::pair<Cost, TensorLayout>> open{{Cost{}, from}};
  while (!open.empty()) {
    const auto [cost, at] = *open.begin();
    open.erase(open.begin());
    if (at == to) { break; }
    for (const Move& move : moves.from(at)) {
      const Cost next = after(cost, move.step);
      const auto found = reached.find(move.to);
      if (found != reached.end() && found->second.cost <= next) { continue; }
      if (found != reached.end()) { open.erase({found->second.cost, move.to}); }
      reached.insert_or_assign(move.to, Reached{next, at, move.step});
      open.insert({next, move.to});
    }
  }
  return way_to(from, to, reached);
}

double received(std::span<const ReshardStep> steps) {
  double sum = 0;
  for (const ReshardStep& step : steps) { sum += bytes_received(step); }
  return sum;
}

}  // namespace tsim::strategies
