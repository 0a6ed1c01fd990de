#include "sim/input/read_stragglers.hpp"

#include <doctest/doctest.h>

#include "tests/sim/input/inputs.hpp"

using namespace tsim;
using namespace tsim::sim;

namespace {

std::string slow(const std::string& entries) { return "/stragglers/slow=[" + entries + "]"; }

}  // namespace

TEST_CASE("slow ranks are named by rank, node or device, and factors multiply") {
  const Scenario s = read_with({slow(R"({"rank": 3, "factor": 1.2}, {"node": 3, "factor": 2},)"
                                     R"({"device": "node3/gpu7", "factor": 1.5})")})
                         .base;
  REQUIRE(s.slowdown.size() == 32);
  CHECK(s.slowdown[3] == 1.2);
  CHECK(s.slowdown[4] == 1.0);
  CHECK(s.slowdown[23] == 1.0);
  CHECK(s.slowdown[24] == 2.0);
  CHECK(s.slowdown[31] == 3.0);
}

TEST_CASE("without stragglers, or with factors of 1, no rank is slow") {
  CHECK(read_with({}).base.slowdown.empty());
  CHECK(read_with({slow(R"({"rank": 0, "factor": 1.0})")}).base.slowdown.empty());
  CHECK(read_with({"/stragglers={}"}).base.slowdown.empty());
}

TEST_CASE("jitter slows every rank by a draw of its own, the same each time") {
  const std::string jitter = R"(/stragglers/jitter={"variation": 0.1, "seed": 5})";
  const Scenario s = read_with({jitter, slow(R"({"rank": 1, "factor": 2})")}).base;
  REQUIRE(s.slowdown.size() == 32);
  CHECK(s.jitter == strategies::Jitter{.variation = 0.1, .seed = 5});
  CHECK(s.slowdown[0] == jitter_factor(s.jitter, 0, 0));
  CHECK(s.slowdown[1] == 2 * jitter_factor(s.jitter, 1, 0));
}

TEST_CASE("stragglers that are nobody, several or no factor are told with the rule") {
  CHECK(problems_with({slow(R"({"rank": 32, "factor": 1.2}, {"node": 4, "factor": 1.2},)"
                            R"({"device": "node0/gpu8", "factor": 1.2})")}) ==
        Texts{"/stragglers/slow/0/rank: found 32, expected at most 31 (ranks are counted from 0)",
              "/stragglers/slow/1/node: found 4, expected at most 3 (nodes are counted from 0)",
              "/stragglers/slow/2/device: found \"node0/gpu8\", expected a device such as "
              "\"node0/gpu0\"; hint: did you mean \"node0/gpu0\"?"});
  CHECK(problems_with({slow(R"({"factor": 1.2}, {"rank": 1, "node": 1, "factor": 2})")}) ==
        Texts{"/stragglers/slow/0: found nobody, expected one of rank, node and device",
              "/stragglers/slow/1: found several, expected one of rank, node and device"});
  CHECK(problems_with({slow(R"({"rank": 1, "factor": 0})"), "/stragglers/jiter={}"}).size() == 2);
  CHECK(problems_with({"/stragglers/jitter={}"}).size() == 1);
}
