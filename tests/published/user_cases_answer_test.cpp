// What a run must print, and how its exit status tells wrong input from what does not fit.
#include <doctest/doctest.h>

#include <sstream>

#include "sim/cli/commands.hpp"
#include "sim/input/input_error.hpp"

using namespace tsim;

namespace {

struct Outcome {
  int status = -1;
  std::string out, err;
};

Outcome run(const std::string& scenario, const std::vector<cli::Setting>& settings) {
  cli::RunOptions options;
  options.scenario = std::string(TSIM_SOURCE_DIR) + "/scenarios/" + scenario;
  options.settings = settings;
  options.settings.push_back({"/compare", "[]"});
  std::ostringstream out;
  std::ostringstream err;
  const int status = run_command(options, out, err);
  return {status, out.str(), err.str()};
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("every answer has a step time, tokens a second and peak memory (SimAI #102)") {
  for (const char* data : {"1", "4"}) {
    const Outcome o = run("bert_4mlu.json", {{"/strategy/pipeline", "1"},
                                             {"/strategy/data", data},
                                             {"/cluster/devices_per_node", data}});
    CHECK(o.status == 0);
    CHECK(has(o.out, "step time"));
    CHECK(has(o.out, "tokens/s"));
    CHECK(has(o.out, "bubble fraction       0.0 %"));
    CHECK_FALSE(has(o.out, "busy                  0.0 %"));
    CHECK(has(o.out, "Fits: rank 0 (stage 0) needs"));
    CHECK(o.err.empty());
  }
}

TEST_CASE("a run that does not fit has status 1 and names rank, stage, need and capacity") {
  const Outcome o = run("bert_4mlu.json", {{"/workload/micro_batch", "64"},
                                           {"/workload/sequence", "512"},
                                           {"/strategy/pipeline", "2"},
                                           {"/cluster/devices_per_node", "2"}});
  CHECK(o.status == cli::kNoAnswer);
  CHECK(has(o.out, "Does not fit: rank"));
  CHECK(has(o.err, "(stage "));
  CHECK(has(o.err, "mlu270 has 16.00 GiB (parameters"));
  CHECK(has(o.err, "; hint: "));
}

TEST_CASE(
    "wrong input is another thing than what does not fit: it is thrown, with nothing printed") {
  CHECK_THROWS_AS(run("bert_4mlu.json", {{"/strategy/tensor", "8"}}), sim::InputErrors);
  CHECK_THROWS_AS(run("no_such.json", {}), sim::InputErrors);
  CHECK(cli::kNoAnswer != cli::kWrongInput);
}
