// Rows of many sources, several processes at a time.
#pragma once

#include <span>
#include <vector>

#include "sim/validate/outcome.hpp"

namespace tsim::validate {

/// One choice of one row.
struct Item {
  const Source* source = nullptr;
  const Row* row = nullptr;
  const Choice* choice = nullptr;
  const sim::StandIns* stand_ins = nullptr;  // null: none
  Tier tier = Tier::events;
};

/// All choices of the rows.
std::vector<Item> items_of(std::span<const Source> sources);

/// The outcomes in the items' order, whatever `jobs` (processes, 1 at least) is. An item whose
/// process dies has not run and says so.
std::vector<Outcome> run_items(std::span<const Item> items, int jobs);

/// The same in two rounds. A row of several choices is answered by formula first, then the choice
/// that is nearest to what was measured, of those that fit in memory, by events.
std::vector<Outcome> run_in_tiers(std::vector<Item> items, int jobs);

/// Processors that this process may use.
int available_processors();

}  // namespace tsim::validate
