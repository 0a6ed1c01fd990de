#include "cost/synthesis/cuts.hpp"

#include <algorithm>
#include <limits>
#include <set>

namespace tsim::cost::synthesis {
namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }

/// Channels that all ways into some of the sets use: of those left, always the one that serves the
/// most ways for its rate. Infinite ways (no channel) are told by `endless`.
struct Entry {
  std::vector<int> channels;
  bool endless = false;
};

bool crosses(std::span<const RankSet> sets, int from, int to) {
  return std::ranges::any_of(
      sets, [&](const RankSet& set) { return set[index(to)] && !set[index(from)]; });
}

/// The channels of each way into some of the sets.
std::vector<std::span<const int>> ways_into(const Ways& ways, std::span<const RankSet> sets) {
  std::vector<std::span<const int>> into;
  for (int from = 0; from < ways.ranks(); ++from) {
    for (int to = 0; to < ways.ranks(); ++to) {
      if (ways.open(from, to) && crosses(sets, from, to)) {
        into.push_back(ways.channels(from, to));
      }
    }
  }
  return into;
}

/// By channel: the ways that it serves, for its rate.
std::vector<double> served_by(const std::vector<std::span<const int>>& ways,
                              std::span<const double> paces) {
  std::vector<double> served(paces.size(), 0);
  for (const auto& channels : ways) {
    for (const int c : channels) { served[index(c)] += paces[index(c)]; }
  }
  return served;
}

Entry entry_of(const Ways& ways, std::span<const RankSet> sets) {
  std::vector<std::span<const int>> left = ways_into(ways, sets);
  Entry entry;
  while (!left.empty() && !entry.endless) {
    const std::vector<double> served = served_by(left, ways.paces());
    const auto best = std::ranges::max_element(served);
    if (best == served.end() || *best <= 0) {
      entry.endless = true;
      break;
    }
    const auto chosen = static_cast<int>(best - served.begin());
    entry.channels.push_back(chosen);
    entry.endless = std::ranges::any_of(left, [](const auto& c) { return c.empty(); });
    std::erase_if(left, [&](const auto& channels) {
      return std::ranges::find(channels, chosen) != channels.end();
    });
  }
  return entry;
}

double rate(const Ways& ways, std::span<const RankSet> sets) {
  const Entry entry = entry_of(ways, sets);
  if (entry.endless) { return std::numeric_limits<double>::infinity(); }
  double sum = 0;
  for (const int c : entry.channels) { sum += 1 / ways.paces()[index(c)]; }
  return sum;
}

/// Bytes that must cross into `inside` of n ranks; rooted collectives have root 0.
double crossing(CollectiveOp op, double payload, const RankSet& set) {
  const auto n = static_cast<double>(set.size());
  const auto inside = static_cast<double>(std::ranges::count(set, true));
  const bool has_root = set[0];
  switch (op) {
    case CollectiveOp::all_reduce: return payload;
    case CollectiveOp::all_gather: return (n - inside) / n * payload;
    case CollectiveOp::reduce_scatter: return inside / n * payload;
    case CollectiveOp::broadcast: return has_root ? 0 : payload;
    case CollectiveOp::reduce: return has_root ? payload : 0;
    case CollectiveOp::scatter: return has_root ? 0 : inside / n * payload;
    case CollectiveOp::gather: return has_root ? (n - inside) / n * payload : 0;
    case CollectiveOp::all_to_all: return inside * (n - inside) / n * payload;
    default: return 0;
  }
}

/// "0-3, 8".
std::string list_of(const RankSet& set) {
  std::string text;
  const int n = static_cast<int>(set.size());
  for (int i = 0; i < n; ++i) {
    if (!set[index(i)]) { continue; }
    int last = i;
    while (last + 1 < n && set[index(last + 1)]) { ++last; }
    if (!text.empty()) { text += ", "; }
    text += std::to_string(i);
    if (last > i) { text.append("-").append(std::to_string(last)); }
    i = last;
  }
  return text;
}

bool overlap(const RankSet& a, const RankSet& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] && b[i]) { return true; }
  }
  return false;
}

/// Sets of `size` ranks that have none in common, taken in their order; empty if any rank is left.
std::vector<RankSet> division(const std::vector<RankSet>& sets, std::ptrdiff_t size) {
  std::vector<RankSet> parts;
  RankSet taken(sets[0].size(), false);
  for (const RankSet& set : sets) {
    if (std::ranges::count(set, true) != size || overlap(set, taken)) { continue; }
    for (std::size_t i = 0; i < set.size(); ++i) { taken[i] = taken[i] || set[i]; }
    parts.push_back(set);
  }
  if (std::ranges::count(taken, false) > 0) { parts.clear(); }
  return parts;
}

/// Sets of equal size that divide the ranks, by size.
std::vector<std::vector<RankSet>> divisions(const std::vector<RankSet>& sets) {
  std::vector<std::vector<RankSet>> found;
  const auto n = static_cast<std::ptrdiff_t>(sets.empty() ? 0 : sets[0].size());
  for (std::ptrdiff_t size = 1; size <= n / 2; ++size) {
    std::vector<RankSet> parts = division(sets, size);
    if (!parts.empty()) { found.push_back(std::move(parts)); }
  }
  return found;
}

/// Each rank alone; by channel, the ranks that ways over it lead to, and those they come from.
std::vector<RankSet> candidate_sets(const Ways& ways) {
  const int n = ways.ranks();
  std::vector<RankSet> candidates(index(n), RankSet(index(n), false));
  for (int i = 0; i < n; ++i) { candidates[index(i)][index(i)] = true; }
  const auto alone = candidates.size();
  candidates.resize(alone + 2 * ways.paces().size(), RankSet(index(n), false));
  for (int from = 0; from < n; ++from) {
    for (int to = 0; to < n; ++to) {
      if (!ways.open(from, to)) { continue; }
      for (const int c : ways.channels(from, to)) {
        candidates[alone + 2 * index(c)][index(to)] = true;
        candidates[alone + 2 * index(c) + 1][index(from)] = true;
      }
    }
  }
  return candidates;
}

}  // namespace

std::vector<RankSet> cut_sets(const Ways& ways) {
  const int n = ways.ranks();
  const std::vector<RankSet> candidates = candidate_sets(ways);
  std::vector<RankSet> sets;
  std::set<RankSet> known{RankSet(index(n), false), RankSet(index(n), true)};
  for (const bool turned : {false, true}) {
    for (RankSet set : candidates) {
      if (turned) { set.flip(); }
      if (known.insert(set).second) { sets.push_back(std::move(set)); }
    }
  }
  return sets;
}

double entry_rate(const Ways& ways, const RankSet& set) { return rate(ways, {&set, 1}); }

LowerBound cut_bound(CollectiveOp op, double payload, const Ways& ways) {
  LowerBound best{{}, "nothing has to move"};
  const std::vector<RankSet> sets = cut_sets(ways);
  for (const RankSet& set : sets) {
    const double time = crossing(op, payload, set) / entry_rate(ways, set);
    if (time > best.time.value * (1 + 1e-9)) {
      best = {{time}, "what ranks " + list_of(set) + " must receive"};
    }
  }
  if (op != CollectiveOp::all_reduce) { return best; }
  for (const std::vector<RankSet>& parts : divisions(sets)) {
    const auto m = static_cast<double>(parts.size());
    const double time = 2 * (m - 1) * payload / rate(ways, parts);
    if (time > best.time.value * (1 + 1e-9)) {
      best = {{time},
              "what must pass between " + std::to_string(parts.size()) + " sets of " +
                  std::to_string(std::ranges::count(parts[0], true)) + " ranks"};
    }
  }
  return best;
}

}  // namespace tsim::cost::synthesis
