#include "sim/input/import/pcie_tree.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <utility>

namespace tsim::sim {
namespace {

constexpr std::array kLevels{Closeness::pix, Closeness::pxb, Closeness::phb, Closeness::node};

std::size_t index(Closeness c) { return static_cast<std::size_t>(c); }

/// Cards joined step by step at each level; those joined at one are joined at all above.
class Joiner {
 public:
  explicit Joiner(const SmiMatrix& matrix) : matrix_(matrix), groups_(kLevels.size()) {
    for (auto& group : groups_) {
      group.resize(matrix.cards.size());
      std::iota(group.begin(), group.end(), std::size_t{0});
    }
  }

  void join(Closeness from, std::size_t i, std::size_t j) {
    for (std::size_t level = index(from); level < kLevels.size(); ++level) {
      auto& group = groups_[level];
      const std::size_t kept = std::min(group[i], group[j]), gone = std::max(group[i], group[j]);
      std::ranges::replace(group, gone, kept);
    }
  }

  bool joined(Closeness level, std::size_t i, std::size_t j) const {
    return groups_[index(level)][i] == groups_[index(level)][j];
  }

  /// Whether no cell says that cards of i's and j's groups are further apart than `level`.
  bool may_join(Closeness level, std::size_t i, std::size_t j) const {
    const auto& group = groups_[index(level)];
    for (std::size_t a = 0; a < group.size(); ++a) {
      if (group[a] != group[i]) { continue; }
      for (std::size_t b = 0; b < group.size(); ++b) {
        const Closeness cell = matrix_.link(a, b).closeness;
        if (group[b] == group[j] && a != b && cell > level && cell != Closeness::hidden) {
          return false;
        }
      }
    }
    return true;
  }

  std::vector<std::vector<int>> numbered() const {
    std::vector<std::vector<int>> result;
    for (const auto& group : groups_) {
      std::map<std::size_t, int> number;
      result.emplace_back();
      for (const std::size_t g : group) {
        result.back().push_back(
            number.try_emplace(g, static_cast<int>(number.size())).first->second);
      }
    }
    return result;
  }

 private:
  const SmiMatrix& matrix_;
  std::vector<std::vector<std::size_t>> groups_;
};

/// Whether two cards belong to one NUMA node as far as the matrix tells.
bool near(const SmiCard& a, const SmiCard& b) {
  if (!a.numa.empty() && !b.numa.empty()) { return a.numa == b.numa; }
  if (!a.cpus.empty() && !b.cpus.empty()) { return a.cpus == b.cpus; }
  return true;
}

template <class Visit>
void for_pairs(const SmiMatrix& matrix, Visit visit) {
  for (std::size_t i = 0; i < matrix.cards.size(); ++i) {
    for (std::size_t j = i + 1; j < matrix.cards.size(); ++j) { visit(i, j); }
  }
}

void check(const SmiMatrix& matrix, const Joiner& joiner, Problems& problems) {
  for_pairs(matrix, [&](std::size_t i, std::size_t j) {
    const Closeness cell = matrix.link(i, j).closeness;
    if (cell == Closeness::hidden || cell == Closeness::pix) { return; }
    const auto nearer = static_cast<Closeness>(index(cell) - 1);
    if (!joiner.joined(nearer, i, j)) { return; }
    problems.add({.path = matrix.place(i, j),
                  .found = std::string(name_of(cell)) + " between " + matrix.cards[i].name +
                           " and " + matrix.cards[j].name,
                  .expected = std::string(name_of(nearer)) +
                              " or nearer, as the other cells join them that closely"});
  });
}

}  // namespace

PcieGroups pcie_groups(const SmiMatrix& matrix, Problems& problems) {
  Joiner joiner(matrix);
  for_pairs(matrix, [&](std::size_t i, std::size_t j) {
    const Closeness cell = matrix.link(i, j).closeness;
    if (cell < Closeness::sys) { joiner.join(cell, i, j); }
  });
  check(matrix, joiner, problems);
  bool guessed = false;
  for_pairs(matrix, [&](std::size_t i, std::size_t j) {
    if (matrix.link(i, j).closeness != Closeness::hidden) { return; }
    if (joiner.joined(Closeness::phb, i, j)) { return; }
    guessed = true;
    const bool together =
        joiner.joined(Closeness::node, i, j) ||
        (near(matrix.cards[i], matrix.cards[j]) && joiner.may_join(Closeness::node, i, j));
    if (!together) { return; }
    const bool one_bridge = joiner.may_join(Closeness::phb, i, j);
    joiner.join(one_bridge ? Closeness::phb : Closeness::node, i, j);
  });
  return {joiner.numbered(), guessed};
}

namespace {

/// Builds the tree from the sockets down.
class Placer {
 public:
  Placer(const PcieGroups& groups, const PcieLinks& links) : groups_(groups), links_(links) {}

  PlacedCards place() {
    const std::size_t cards = groups_.groups[0].size();
    placed_.slots.resize(cards);
    for (std::size_t card = 0; card < cards; ++card) { placed_.slots[card] = slot_of(card); }
    return std::move(placed_);
  }

 private:
  /// Cards of a group, and groups of the level below in it.
  std::pair<int, int> sizes(Closeness level, std::size_t card) const {
    std::vector<int> lower;
    int cards = 0;
    for (std::size_t other = 0; other < groups_.groups[0].size(); ++other) {
      if (groups_.of(level, other) != groups_.of(level, card)) { continue; }
      ++cards;
      lower.push_back(groups_.of(Closeness::pix, other));
    }
    std::ranges::sort(lower);
    lower.erase(std::unique(lower.begin(), lower.end()), lower.end());
    return {cards, static_cast<int>(lower.size())};
  }

  cost::Slot slot_of(std::size_t card) {
    const auto [cards, switches] = sizes(Closeness::pxb, card);
    const cost::Slot port{cost::SlotAt::host_bridge, bridge_of(card), links_.uplink};
    if (cards == 1) { return {port.at, port.index, links_.card}; }
    cost::Slot above = port;
    if (switches > 1) {
      const int upper = switch_of({Closeness::pxb, groups_.of(Closeness::pxb, card)}, port);
      above = {cost::SlotAt::pcie_switch, upper, links_.uplink};
    }
    const int leaf = switch_of({Closeness::pix, groups_.of(Closeness::pix, card)}, above);
    return {cost::SlotAt::pcie_switch, leaf, links_.card};
  }

  int bridge_of(std::size_t card) {
    const int socket = groups_.of(Closeness::node, card);
    const auto [entry, is_new] = bridges_.try_emplace(
        groups_.of(Closeness::phb, card), static_cast<int>(placed_.host.bridges.size()));
    if (is_new) { placed_.host.bridges.push_back(socket); }
    return entry->second;
  }

  int switch_of(std::pair<Closeness, int> group, const cost::Slot& above) {
    const auto [entry, is_new] =
        switches_.try_emplace(group, static_cast<int>(placed_.host.switches.size()));
    if (is_new) { placed_.host.switches.push_back(above); }
    return entry->second;
  }

  const PcieGroups& groups_;
  const PcieLinks& links_;
  PlacedCards placed_;
  std::map<int, int> bridges_;                         // by group of the level PHB
  std::map<std::pair<Closeness, int>, int> switches_;  // by level and group
};

}  // namespace

PlacedCards place_cards(const PcieGroups& groups, const PcieLinks& links) {
  return Placer(groups, links).place();
}

}  // namespace tsim::sim
