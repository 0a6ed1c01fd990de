// Why points are removed, and how many points a reason removes at once.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/sweep/spec.hpp"

namespace tsim::sim {

/// Points removed by reason. Reasons have numbers, so that counting needs no texts.
class Removals {
 public:
  std::size_t reason(std::string text);
  void remove(std::size_t reason, std::uint64_t points = 1) { list_[reason].points += points; }
  /// Adds what was counted to `removed` and begins again.
  void move_to(std::map<std::string, std::uint64_t>& removed);

 private:
  struct Entry {
    std::string text;
    std::uint64_t points = 0;
  };
  std::vector<Entry> list_;
};

/// How far a formula or condition that removes a point reaches: all points alike in the axes that
/// it and those before it read are removed by it, too. Points are numbered as Space does.
class Reaches {
 public:
  explicit Reaches(const SweepSpec& spec);
  /// Points from `point` on that the formula of an axis, or a condition, removes with it.
  std::uint64_t of_formula(std::size_t axis, std::uint64_t point) const;
  std::uint64_t of_condition(std::size_t where, std::uint64_t point) const;

 private:
  std::size_t depth_of(const std::vector<int>& slots) const;
  std::vector<std::size_t> slot_depth_;    // 1 + the innermost axis that a slot depends on; 0: none
  std::vector<std::uint64_t> formulas_;    // by axis: block of points with one result
  std::vector<std::uint64_t> conditions_;  // by condition
};

}  // namespace tsim::sim
