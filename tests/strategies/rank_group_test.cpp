#include "strategies/rank_group.hpp"

#include <doctest/doctest.h>

#include <set>

using namespace tsim::strategies;

TEST_CASE("members of a group are its stride apart") {
  const RankGroup rows{GroupAxis::replica, 4, 1};
  CHECK(members(rows, 1) == std::vector<int>{4, 5, 6, 7});
  const RankGroup columns{GroupAxis::replica, 3, 4};
  CHECK(members(columns, 2) == std::vector<int>{2, 6, 10});
  // 24 indices: the second half has groups of its own.
  CHECK(members(columns, 5) == std::vector<int>{13, 17, 21});
}

TEST_CASE("every index is in one group, the one that it says") {
  for (const RankGroup& g : {RankGroup{GroupAxis::tensor, 4, 1}, RankGroup{GroupAxis::tensor, 3, 2},
                             RankGroup{GroupAxis::tensor, 2, 12}}) {
    std::set<int> seen;
    for (int number = 0; number < group_count(g, 24); ++number) {
      for (const int index : members(g, number)) {
        CHECK(group_of(g, index) == number);
        seen.insert(index);
      }
    }
    CHECK(seen.size() == 24);
  }
}
