// A table of time slots of equal length, for schedules that are drawn on squared paper.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "strategies/pipeline_order.hpp"

namespace tsim::strategies {

class SlotTable {
 public:
  explicit SlotTable(int stages) : rows_(static_cast<std::size_t>(stages)) {}

  void put(int stage, int slot, const Action& action) {
    rows_[static_cast<std::size_t>(stage)].push_back({slot, action});
  }

  /// Actions of every stage by slot.
  PipelineOrder order() && {
    PipelineOrder order;
    for (auto& row : rows_) {
      std::sort(row.begin(), row.end(),
                [](const Entry& a, const Entry& b) { return a.slot < b.slot; });
      StageOrder of_stage;
      of_stage.reserve(row.size());
      for (const Entry& e : row) { of_stage.push_back(e.action); }
      order.push_back(std::move(of_stage));
    }
    return order;
  }

 private:
  struct Entry {
    int slot;
    Action action;
  };
  std::vector<std::vector<Entry>> rows_;
};

}  // namespace tsim::strategies
