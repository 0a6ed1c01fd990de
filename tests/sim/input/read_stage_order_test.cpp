#include "sim/input/read_stage_order.hpp"

#include <doctest/doctest.h>

#include "tests/sim/input/inputs.hpp"

using namespace tsim;
using namespace tsim::sim;

TEST_CASE("stages sit where they are numbered unless a list or the wires say otherwise") {
  CHECK(read_with({}).base.strategy.stage_places.empty());
  CHECK(read_with({"/strategy/stage_order=given"}).base.strategy.stage_places.empty());
  CHECK(read_with({"/strategy/stage_order=[3, 1, 0, 2]"}).base.strategy.stage_places ==
        std::vector<int>{3, 1, 0, 2});
  // Stages of 8 devices on nodes of 8 behind one switch: all orders are alike.
  CHECK(read_with({"/strategy/stage_order=topology"}).base.strategy.stage_places ==
        std::vector<int>{0, 1, 2, 3});
}

TEST_CASE("a list that leaves a place out, names one twice or one too many is told") {
  CHECK(problems_with({"/strategy/stage_order=[0, 1, 1, 2]"}) ==
        Texts{"/strategy/stage_order/2: found place 1 again, expected every place once"});
  CHECK(problems_with({"/strategy/stage_order=[0, 1, 2]"}) ==
        Texts{"/strategy/stage_order: found 3 places, expected 4 (/strategy/pipeline), one for "
              "each stage"});
  CHECK(problems_with({"/strategy/stage_order=[0, 1, 2, 4]"}).size() >= 1);
  CHECK(problems_with({"/strategy/stage_order=topologie"}) ==
        Texts{"/strategy/stage_order: found \"topologie\", expected one of given, topology; hint: "
              "did you mean \"topology\"?"});
  CHECK(problems_with({"/strategy/stage_order=3"}).size() == 1);
}
