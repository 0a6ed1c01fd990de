#include "sim/input/read_schedule.hpp"

#include <doctest/doctest.h>

#include "tests/sim/input/inputs.hpp"

using namespace tsim;
using namespace tsim::sim;
using strategies::Phase;
using strategies::Placement;

namespace {

/// The right scenario as a pipeline of two stages and four micro-batches with its own order.
Texts problems_of(const std::string& schedule, const std::vector<std::string>& more = {}) {
  std::vector<std::string> overrides{"/strategy/pipeline=2", "/strategy/data=4",
                                     "/workload/global_batch=16", "/strategy/schedule=" + schedule};
  overrides.insert(overrides.end(), more.begin(), more.end());
  return problems_with(overrides);
}

constexpr const char* kTwo = R"({"stages": ["F0 F1", "F0 F1"]})";

}  // namespace

TEST_CASE("an own order is read from words; a B without a W is the whole backward") {
  const Scenario s =
      read_with({"/strategy/pipeline=2", "/strategy/data=4", "/workload/global_batch=16",
                 R"(/strategy/schedule={"name": "mine", "stages":
                    ["F0 F1 B0 W0 B1", ["F0", "B0 W0", "F1&B1"]]})"})
          .base;
  const strategies::PipelineOrder expected{{{Phase::forward, 0},
                                            {Phase::forward, 1},
                                            {Phase::input_grad, 0},
                                            {Phase::weight_grad, 0},
                                            {Phase::backward, 1}},
                                           {{Phase::forward, 0},
                                            {Phase::input_grad, 0},
                                            {Phase::weight_grad, 0},
                                            {Phase::forward, 1, 0, true},
                                            {Phase::backward, 1}}};
  CHECK(s.strategy.schedule == "mine");
  CHECK(s.strategy.own_order == expected);
  CHECK(s.strategy.chunks == 1);
  CHECK(s.strategy.own_placement == Placement::loop);
}

TEST_CASE("chunks of an own order follow from its words") {
  const Scenario s =
      read_with({"/strategy/pipeline=2", "/strategy/data=4", "/workload/global_batch=8",
                 R"(/strategy/schedule={"placement": "wave", "stages":
                                   ["F0 F0.1 B0.1 B0", "F0 F0.1 B0.1 B0"]})"})
          .base;
  CHECK(s.strategy.chunks == 2);
  CHECK(s.strategy.schedule == "own");
  CHECK(s.strategy.own_placement == Placement::wave);
}

TEST_CASE("words that are no action, and orders that cannot run, are refused by name") {
  CHECK(problems_of(R"({"stages": ["F0 X1", "F0 B0"]})") ==
        Texts{"/strategy/schedule/stages/0: found \"X1\", expected F, B or W of a micro-batch, "
              "such as F0, B3.1 (of chunk 1), F3&B2"});
  CHECK(problems_of(kTwo) ==
        Texts{"/strategy/schedule/stages: found B0 of stage 0 is missing, expected each forward, "
              "backward and weight gradient once, in this order"});
  CHECK(problems_of(R"({"stages": ["F0 B0 F1 B1", "F0 F1 B0 B1"]})") ==
        Texts{"/strategy/schedule/stages: found a deadlock: B0 of stage 0 waits for B0 of stage 1, "
              "F1 of stage 1 waits for F1 of stage 0, expected an order that runs to its end"});
  CHECK(problems_of(R"({"name": "1f1b", "stages": ["F0 B0"]})") ==
        Texts{"/strategy/schedule: found the name \"1f1b\", expected a name that no schedule of "
              "tsim has"});
  CHECK(problems_of(R"({"stages": []})") ==
        Texts{"/strategy/schedule/stages: found an empty list, expected the order of each stage"});
  CHECK(problems_of("no/such/file.json") ==
        Texts{"/strategy/schedule: found \"no/such/file.json\", expected the path of a schedule; "
              "hint: no such file"});
}

TEST_CASE("an own order fits the scenario's stages and micro-batches") {
  CHECK(problems_of(R"({"stages": ["F0 B0"]})") ==
        Texts{"/strategy/schedule: found an order of 1 stages, expected 2 (/strategy/pipeline)",
              "/strategy/schedule: found an order of 1 micro-batches, expected 2 "
              "(global_batch / (micro_batch*data))"});
}

TEST_CASE("each schedule's demands are told with the valid values") {
  CHECK(problems_with({"/strategy/schedule=chimera", "/strategy/tensor=2", "/strategy/pipeline=1",
                       "/strategy/data=16"}) ==
        Texts{"/strategy/pipeline: found 1, expected an even number: stages hold two parts, "
              "mirrored"});
  CHECK(problems_with({"/strategy/schedule=dualpipe", "/workload/global_batch=24"}) ==
        Texts{"/workload/global_batch: found 6 micro-batches in each pipeline, expected an even "
              "number >= 2*pipeline = 8 with schedule \"dualpipe\"; hint: at least 8"});
  CHECK(problems_with({"/strategy/schedule=dualpipe_v", "/workload/global_batch=28"}) ==
        Texts{"/workload/global_batch: found 7 micro-batches in each pipeline, expected at least "
              "2*pipeline = 8 with schedule \"dualpipe_v\""});
  CHECK(problems_with({"/strategy/schedule=hanayo", "/strategy/chunks=3"}) ==
        Texts{"/strategy/chunks: found 3, expected an even number with schedule \"hanayo\": two "
              "for each wave; hint: chunks = 4"});
  CHECK(problems_with({"/strategy/schedule=zb_v", "/strategy/chunks=4"}) ==
        Texts{"/strategy/chunks: found 4, expected 2 with schedule \"zb_v\""});
  CHECK(problems_with({"/strategy/micro_batch_group=4"}) ==
        Texts{"/strategy/micro_batch_group: found 4, expected nothing with schedule \"1f1b\"; "
              "hint: schedule = \"interleaved\""});
  CHECK(problems_with({"/strategy/schedule=interleaved", "/strategy/chunks=2",
                       "/strategy/micro_batch_group=3"}) ==
        Texts{"/strategy/micro_batch_group: found 3, expected at least 4 (pipeline, or all)"});
  CHECK(problems_with({"/strategy/schedule=interleaved", "/strategy/chunks=2",
                       "/strategy/micro_batch_group=5", "/workload/global_batch=28"}) ==
        Texts{"/strategy/micro_batch_group: found 5, expected a group that leaves 0 or at least "
              "pipeline = 4 of 7 micro-batches over (7 % 5 = 2); hint: micro_batch_group = 7"});
}

TEST_CASE("states cannot be sharded when stages step after every micro-batch") {
  CHECK(problems_with({"/strategy/schedule=pipedream", "/strategy/zero=1"}) ==
        Texts{"/strategy/zero: found 1, expected 0 with schedule \"pipedream\", whose stages step "
              "after every micro-batch"});
}

TEST_CASE("more chunks than layers are refused for every placement") {
  for (const char* schedule : {"interleaved", "hanayo", "breadth_first"}) {
    CHECK(problems_with({std::string("/strategy/schedule=") + schedule, "/strategy/chunks=8"}) ==
          Texts{"/strategy/pipeline: found 32 chunks, expected at most 30 (layers of the model)"});
  }
}

TEST_CASE("a schedule's own number of chunks needs no key") {
  CHECK(read_with({"/strategy/schedule=zb_v"}).base.strategy.chunks == 2);
  CHECK(read_with({"/strategy/schedule=hanayo"}).base.strategy.chunks == 2);
  CHECK(read_with({"/strategy/schedule=chimera"}).base.strategy.chunks == 2);
  CHECK(read_with({"/strategy/schedule=zb_h1"}).base.strategy.chunks == 1);
}
