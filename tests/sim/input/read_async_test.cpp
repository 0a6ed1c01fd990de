#include "sim/input/read_async.hpp"

#include <doctest/doctest.h>

#include "tests/sim/input/inputs.hpp"

using namespace tsim;
using namespace tsim::sim;
using strategies::DataMode;

namespace {

/// 32 devices: so many workers, and what the rest of the strategy says.
std::vector<std::string> workers(int data, const std::string& servers,
                                 std::vector<std::string> more = {}) {
  std::vector<std::string> all{"/strategy/tensor=1", "/strategy/pipeline=1",
                               "/strategy/data=" + std::to_string(data),
                               "/strategy/data_parallel=" + servers};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace

TEST_CASE("replicas meet in collectives unless data_parallel says otherwise") {
  CHECK_FALSE(read_with({}).base.strategy.async.through_servers);
}

TEST_CASE("mode, staleness, iterations and servers are taken, or have their defaults") {
  const auto plain = read_with(workers(32, R"({"mode": "asp"})")).base.strategy.async;
  CHECK(plain == strategies::AsyncData{true, DataMode::asp, 0, 20, 0});
  const auto all = read_with(workers(30, R"({"mode": "ssp", "staleness": 3, "iterations": 7,
                                             "servers": 2})",
                                     {"/workload/global_batch=60"}))
                       .base.strategy.async;
  CHECK(all == strategies::AsyncData{true, DataMode::ssp, 3, 7, 2});
  CHECK(read_with(workers(32, R"({"mode": "bsp", "servers": "colocated"})"))
            .base.strategy.async.servers == 0);
}

TEST_CASE("servers of their own take devices from the workers") {
  CHECK(problems_with(workers(32, R"({"mode": "asp", "servers": 2})")) ==
        Texts{"/strategy: found tensor*pipeline*data = 1*1*32 = 32, expected 30 (devices in "
              "/cluster but for the servers); hint: data = 30 gives 32"});
}

TEST_CASE("what does not go with parameter servers is told") {
  CHECK(problems_with({"/strategy/data_parallel={\"mode\": \"asp\"}", "/strategy/zero=1"}) ==
        Texts{"/strategy/tensor: found 4, expected 1 with /strategy/data_parallel",
              "/strategy/pipeline: found 4, expected 1 with /strategy/data_parallel",
              "/strategy/zero: found 1, expected 0 with /strategy/data_parallel"});
  CHECK(problems_with(workers(32, R"({"mode": "asp", "staleness": 2})")) ==
        Texts{"/strategy/data_parallel/staleness: found 2, expected nothing with mode \"asp\"; "
              "hint: mode = \"ssp\""});
  CHECK(problems_with(workers(32, R"({"mode": "ssp"})")).size() == 1);
  CHECK(problems_with(workers(32, R"({"mode": "spp", "servers": "collocated"})")).size() == 2);
  CHECK(problems_with(workers(32, R"({"mode": "asp", "iterations": 100000})")).size() == 1);
}
