#include "sim/input/read_slices.hpp"

#include <doctest/doctest.h>

#include "tests/sim/input/inputs.hpp"

using namespace tsim;
using namespace tsim::sim;

namespace {

std::vector<std::string> terapipe(const std::string& slices, std::vector<std::string> more = {}) {
  std::vector<std::string> all{"/strategy/schedule=terapipe", "/strategy/token_slices=" + slices};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace

TEST_CASE("slices are as many as take least, a count, or a list of their tokens") {
  CHECK(read_with({"/strategy/schedule=terapipe"}).base.strategy.slices == 0);
  CHECK(read_with(terapipe("auto")).base.strategy.slices == 0);
  CHECK(read_with(terapipe("4")).base.strategy.slices == 4);
  CHECK(read_with(terapipe("[1024, 512, 512]")).base.strategy.slice_tokens ==
        std::vector<std::int64_t>{1024, 512, 512});
}

TEST_CASE("slices that are not a sample, or of another schedule, are told") {
  CHECK(problems_with(terapipe("[1024, 512]")) ==
        Texts{"/strategy/token_slices: found slices that sum to 1536, expected 2048 (tokens of a "
              "sample)"});
  CHECK(problems_with({"/strategy/token_slices=4"}) ==
        Texts{"/strategy/token_slices: found slices, expected nothing with schedule \"1f1b\"; "
              "hint: schedule = \"terapipe\""});
  CHECK(problems_with(terapipe("[1023, 1025]", {"/strategy/sequence_parallel=true"})).size() == 1);
  CHECK(problems_with(terapipe("often")).size() == 1);
  CHECK(problems_with(
            terapipe("4", {"/model=bert-base", "/workload/sequence=128", "/strategy/tensor=4"})) ==
        Texts{"/model: found a model whose tokens look ahead, expected a decoder with a causal "
              "mask with schedule \"terapipe\""});
}
