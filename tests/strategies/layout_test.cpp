#include "strategies/layout.hpp"

#include <doctest/doctest.h>

#include <set>

using namespace tsim::strategies;

namespace {

Strategy degrees(int tensor, int pipeline, int data, std::string order = "tp-dp-pp") {
  Strategy s;
  s.tensor = tensor;
  s.pipeline = pipeline;
  s.data = data;
  s.order = std::move(order);
  return s;
}

}  // namespace

TEST_CASE("the innermost kind numbers neighbouring ranks") {
  const Layout megatron(degrees(2, 2, 2));
  CHECK(megatron.tensor_group(0, 0) == std::vector<int>{0, 1});
  CHECK(megatron.replica_group(0, 0) == std::vector<int>{0, 2});
  CHECK(megatron.rank({0, 0, 1}) == 4);
  const Layout pipeline_inside(degrees(2, 2, 2, "pp-tp-dp"));
  CHECK(pipeline_inside.tensor_group(0, 0) == std::vector<int>{0, 2});
  CHECK(pipeline_inside.rank({0, 0, 1}) == 1);
}

TEST_CASE("every order gives every rank one place") {
  for (const char* order :
       {"tp-dp-pp", "tp-pp-dp", "dp-tp-pp", "dp-pp-tp", "pp-tp-dp", "pp-dp-tp"}) {
    const Layout layout(degrees(4, 3, 2, order));
    std::set<int> ranks;
    for (int t = 0; t < 4; ++t) {
      for (int d = 0; d < 2; ++d) {
        for (int s = 0; s < 3; ++s) { ranks.insert(layout.rank({t, d, s})); }
      }
    }
    CHECK(ranks.size() == 24);
    CHECK(*ranks.rbegin() == 23);
  }
}

TEST_CASE("a rank order names each kind once") {
  CHECK(is_rank_order("pp-dp-tp"));
  for (const char* wrong : {"", "tp-dp", "tp-tp-pp", "tp,dp,pp", "tp-dp-ep", "tp-dp-pp-"}) {
    CHECK_FALSE(is_rank_order(wrong));
  }
}
