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

TEST_CASE("a group of the plane is one along each axis") {
  // Four tensor ranks. Whole experts over eight ranks: all four of two neighbouring replicas.
  const PlaneGroup whole = on_axes({GroupAxis::plane, 8, 1}, 4);
  CHECK(whole.tensor == RankGroup{GroupAxis::tensor, 4, 1});
  CHECK(whole.replica == RankGroup{GroupAxis::replica, 2, 1});
  // Experts split over two: every other tensor rank of two replicas.
  const PlaneGroup halves = on_axes({GroupAxis::plane, 4, 2}, 4);
  CHECK(halves.tensor == RankGroup{GroupAxis::tensor, 2, 2});
  CHECK(halves.replica == RankGroup{GroupAxis::replica, 2, 1});
  // Split as the rest: one tensor rank of every second replica holds a copy.
  const PlaneGroup copies = on_axes({GroupAxis::plane, 3, 8}, 4);
  CHECK(copies.tensor == RankGroup{GroupAxis::tensor, 1, 4});
  CHECK(copies.replica == RankGroup{GroupAxis::replica, 3, 2});
  // Two ranks of one replica.
  const PlaneGroup inside = on_axes({GroupAxis::plane, 2, 1}, 4);
  CHECK(inside.tensor == RankGroup{GroupAxis::tensor, 2, 1});
  CHECK(inside.replica == RankGroup{GroupAxis::replica, 1, 1});
}
