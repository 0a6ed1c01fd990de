// Rules of offload and recomputation by layers.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/sim/input/inputs.hpp"

using namespace tsim::sim;

namespace {

/// Whether one of the problems starts so.
bool tells(const Texts& overrides, const std::string& start) {
  const Texts problems = problems_with(overrides);
  CAPTURE(start);
  return std::any_of(problems.begin(), problems.end(),
                     [&](const std::string& p) { return p.starts_with(start); });
}

}  // namespace

TEST_CASE("a cluster without host memory has nothing to offload to") {
  CHECK(problems_with({"/strategy/offload={\"activations\": \"cpu\"}"}) ==
        Texts{"/strategy/offload: found a node (of device 0) without host memory, expected a "
              "cluster that states them; hint: host.memory of a node and the devices' slots, as in "
              "clusters/dgx_a100_pod.json"});
  CHECK(tells({"/strategy/offload={\"optimizer\": \"nvme\"}", "/strategy/zero=1"},
              "/strategy/offload: found a node (of device 0) without drives"));
}

TEST_CASE("several replicas that each step everything on their host are refused") {
  CHECK(tells({"/strategy/offload={\"optimizer\": \"cpu\"}"},
              "/strategy/offload/optimizer: found \"cpu\", expected \"none\" with zero = 0"));
}

TEST_CASE("parameters leave only where they are sharded, and with the optimizer") {
  const Texts problems = problems_with({"/strategy/offload={\"parameters\": \"cpu\"}"});
  REQUIRE(problems.size() == 2);
  CHECK(
      problems[0].starts_with("/strategy/offload/parameters: found \"cpu\", expected \"none\" "
                              "with zero = 0"));
  CHECK(
      problems[1].starts_with("/strategy/offload/parameters: found \"cpu\", expected \"none\" "
                              "unless the optimizer is on the host"));
}

TEST_CASE("peers need a pipeline of whole backwards, one chunk a stage") {
  CHECK(problems_with({"/strategy/offload={\"activations\": \"peer\"}"}) == Texts{});
  CHECK(tells({"/strategy/offload={\"activations\": \"peer\"}", "/strategy/schedule=zb_h1"},
              "/strategy/offload/activations: found \"peer\", expected another value with schedule "
              "\"zb_h1\""));
  CHECK(tells({"/strategy/offload={\"activations\": \"peer\"}", "/strategy/schedule=interleaved",
               "/strategy/chunks=2"},
              "/strategy/offload/activations: found \"peer\", expected a pipeline of at least 2"));
}

TEST_CASE("settings that nothing reads are told") {
  const Texts problems =
      problems_with({"/strategy/offload={\"layers\": 2, \"cpu_rate\": 1e9, \"host_memory\": "
                     "\"1 TB\"}"});
  REQUIRE(problems.size() == 3);
  CHECK(problems[0].starts_with("/strategy/offload/layers: found a value, expected nothing"));
  CHECK(problems[1].starts_with("/strategy/offload/cpu_rate: found a value, expected nothing"));
  CHECK(problems[2].starts_with("/strategy/offload/host_memory: found a value, expected nothing"));
}

TEST_CASE("layers to recompute are layers of the model") {
  CHECK(problems_with({"/strategy/recompute={\"method\": \"list\", \"layers\": [0, 1]}"}) ==
        Texts{});
  CHECK(tells({"/strategy/recompute={\"method\": \"list\", \"layers\": [0, 99999]}"},
              "/strategy/recompute/layers: found 99999, expected layers from 0 to "));
  CHECK(tells({"/strategy/recompute={\"method\": \"block\", \"layers\": 99999}"},
              "/strategy/recompute/layers: found 99999, expected at most "));
  CHECK(tells({"/strategy/recompute={\"method\": \"list\"}"},
              "/strategy/recompute/layers: found nothing, expected a list"));
  CHECK(tells({"/strategy/recompute=halve"}, "/strategy/recompute: found \"halve\", expected"));
}

TEST_CASE("fit needs whole backwards and all that it counts") {
  CHECK(problems_with({"/strategy/recompute=fit"}) == Texts{});
  CHECK(tells({"/strategy/recompute=fit", "/strategy/schedule=zb_h1"},
              "/strategy/recompute: found \"fit\", expected another value with schedule"));
}

TEST_CASE("tiles and partitions need something to cut") {
  CHECK(tells({"/strategy/tiling=4"}, "/strategy/tiling: found 4, expected 1 with zero = 0"));
  CHECK(tells({"/strategy/partition_activations=true"},
              "/strategy/partition_activations: found true, expected false unless"));
  CHECK(problems_with({"/strategy/partition_activations=true", "/strategy/recompute=full"}) ==
        Texts{});
}
