#include "sim/sweep/removal.hpp"

#include <algorithm>
#include <utility>

namespace tsim::sim {
namespace {

std::size_t slot_of(Known known) { return kFields + static_cast<std::size_t>(known); }

/// Points alike in the first `depth` axes.
std::uint64_t block_size(const std::vector<Axis>& axes, std::size_t depth) {
  std::uint64_t size = 1;
  for (std::size_t a = depth; a < axes.size(); ++a) { size *= axes[a].count(); }
  return size;
}

}  // namespace

std::size_t Removals::reason(std::string text) {
  const auto known = std::ranges::find(list_, text, &Entry::text);
  if (known != list_.end()) { return static_cast<std::size_t>(known - list_.begin()); }
  list_.push_back({std::move(text), 0});
  return list_.size() - 1;
}

void Removals::move_to(std::map<std::string, std::uint64_t>& removed) {
  for (Entry& entry : list_) {
    if (entry.points > 0) { removed[entry.text] += entry.points; }
    entry.points = 0;
  }
}

Reaches::Reaches(const SweepSpec& spec) : slot_depth_(kFields + kKnown, 0) {
  const std::vector<Axis>& axes = spec.axes;
  const auto depth = [this](Field field) -> std::size_t& {
    return slot_depth_[static_cast<std::size_t>(field)];
  };
  for (std::size_t a = 0; a < axes.size(); ++a) {
    if (!axes[a].field) {
      slot_depth_.push_back(a + 1);
    } else if (!axes[a].formula) {
      depth(*axes[a].field) = a + 1;
    }
  }
  std::size_t so_far = 0;  // a later check's verdict is for points that passed all before it
  for (const Axis& axis : axes) {
    if (axis.formula) {
      so_far = std::max(so_far, depth_of(axis.formula->reads()));
      depth(*axis.field) = so_far;
    }
    formulas_.push_back(block_size(axes, so_far));
  }
  slot_depth_[slot_of(Known::micro_batches)] =
      std::max({depth(Field::global_batch), depth(Field::micro_batch), depth(Field::data)});
  slot_depth_[slot_of(Known::replicas)] = std::max(depth(Field::data), depth(Field::context));
  for (const Condition& where : spec.where) {
    so_far = std::max(so_far, depth_of(where.reads()));
    conditions_.push_back(block_size(axes, so_far));
  }
}

std::size_t Reaches::depth_of(const std::vector<int>& slots) const {
  std::size_t deepest = 0;
  for (const int slot : slots) {
    deepest = std::max(deepest, slot_depth_[static_cast<std::size_t>(slot)]);
  }
  return deepest;
}

std::uint64_t Reaches::of_formula(std::size_t axis, std::uint64_t point) const {
  return formulas_[axis] - point % formulas_[axis];
}

std::uint64_t Reaches::of_condition(std::size_t where, std::uint64_t point) const {
  return conditions_[where] - point % conditions_[where];
}

}  // namespace tsim::sim
