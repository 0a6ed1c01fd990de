#include <cmath>
#include <optional>

#include "sim/validate/run_rows.hpp"
#include "sim/validate/validation.hpp"

namespace tsim::validate {
namespace {

/// Items of one row: [first, end).
struct Span {
  std::size_t first = 0, end = 0;
};

std::vector<Span> rows_of(const std::vector<Item>& items) {
  std::vector<Span> spans;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i == 0 || items[i].row != items[i - 1].row ||
        items[i].stand_ins != items[i - 1].stand_ins) {
      spans.push_back({i, i});
    }
    spans.back().end = i + 1;
  }
  return spans;
}

/// Place of the choice by formula that events have to confirm: the nearest to what was measured of
/// those that fit in memory, if any does. None: there is none by formula.
std::optional<std::size_t> deciding(const std::vector<Outcome>& outcomes, Span row) {
  std::optional<std::size_t> best;
  const auto worse = [&](const Outcome& a, const Outcome& b) {
    if (a.fits != b.fits) { return b.fits; }
    return std::abs(error_of(b)) < std::abs(error_of(a));
  };
  for (std::size_t i = row.first; i < row.end; ++i) {
    if (!outcomes[i].ran || !outcomes[i].by_formula) { continue; }
    if (!best || worse(outcomes[*best], outcomes[i])) { best = i; }
  }
  return best;
}

}  // namespace

std::vector<Outcome> run_in_tiers(std::vector<Item> items, int jobs) {
  const std::vector<Span> rows = rows_of(items);
  for (const Span row : rows) {
    if (row.end - row.first < 2) { continue; }
    for (std::size_t i = row.first; i < row.end; ++i) { items[i].tier = Tier::closed_form; }
  }
  std::vector<Outcome> outcomes = run_items(items, jobs);
  std::vector<std::size_t> again;
  std::vector<Item> second;
  again.reserve(items.size());
  second.reserve(items.size());
  for (const Span row : rows) {
    const std::optional<std::size_t> one = deciding(outcomes, row);
    if (!one) { continue; }
    again.push_back(*one);
    second.push_back(items[*one]);
    second.back().tier = Tier::events;
  }
  if (second.empty()) { return outcomes; }
  const std::vector<Outcome> confirmed = run_items(second, jobs);
  for (std::size_t k = 0; k < again.size(); ++k) { outcomes[again[k]] = confirmed[k]; }
  return outcomes;
}

}  // namespace tsim::validate
