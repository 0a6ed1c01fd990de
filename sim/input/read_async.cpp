#include "sim/input/read_async.hpp"

#include <algorithm>
#include <array>

#include "sim/input/suggest.hpp"

namespace tsim::sim {
namespace {

using strategies::AsyncData;
using strategies::DataMode;

constexpr std::array kModes{DataMode::bsp, DataMode::ssp, DataMode::asp};
constexpr int kIterations = 20;
constexpr std::int64_t kMostPhases = 4'000'000;  // simulated in one run

/// "colocated", or how many.
int read_servers(const Place& place) {
  const std::string expected = "\"colocated\" or how many devices are servers";
  if (!place.present()) { return 0; }
  if (place.value->is_number_integer()) {
    return static_cast<int>(read_count(place, {.least = 1, .most = 1'000'000}));
  }
  static constexpr std::array<std::string_view, 1> kBeside{"colocated"};
  if (!place.value->is_string()) {
    place.fail(place.found(), expected);
  } else if (const std::string written = read_text(place);
             !written.empty() && written != kBeside.front()) {
    place.fail(in_quotes(written), expected, did_you_mean(written, kBeside));
  }
  return 0;
}

}  // namespace

AsyncData read_async(const Place& place) {
  AsyncData async;
  if (!place.present()) { return async; }
  Reader in(place);
  async.through_servers = true;
  const Place mode = in.take("mode");
  async.mode = read_choice<DataMode>(mode, kModes);
  const Place staleness = in.take("staleness");
  if (async.mode == DataMode::ssp) {
    async.staleness = static_cast<int>(read_count(staleness, {.least = 0, .most = 1'000'000}));
  } else if (staleness.present() && mode.present()) {
    staleness.fail(staleness.found(),
                   "nothing with mode \"" + std::string(name_of(async.mode)) + "\"",
                   "mode = \"ssp\"");
  }
  async.iterations = static_cast<int>(
      read_count(in.take("iterations"), {.least = 1, .most = 100'000}, kIterations));
  async.servers = read_servers(in.take("servers"));
  in.finish();
  return async;
}

void check_async(const Scenario& scenario, Problems& problems) {
  const strategies::Strategy& s = scenario.strategy;
  if (!s.async.through_servers) { return; }
  const auto only = [&](const char* key, bool fits, const std::string& found,
                        const std::string& expected) {
    if (fits) { return; }
    problems.add({.path = std::string("/strategy/") + key,
                  .found = found,
                  .expected = expected + " with /strategy/data_parallel"});
  };
  only("tensor", s.tensor == 1, std::to_string(s.tensor), "1");
  only("pipeline", s.pipeline == 1, std::to_string(s.pipeline), "1");
  only("zero", s.zero.stage == 0, std::to_string(s.zero.stage), "0");
  only("context", s.context == 1, std::to_string(s.context), "1");
  only("fidelity", s.fidelity == strategies::Fidelity::aggregated, "\"steps\"", "\"aggregated\"");
  if (!scenario.workload.training) {
    problems.add({.path = "/workload/mode",
                  .found = "\"forward\"",
                  .expected = "\"train\" with /strategy/data_parallel"});
  }
  const std::int64_t phases =
      2 * std::int64_t{s.async.iterations} *
      (scenario.workload.global_batch / std::max<std::int64_t>(1, scenario.workload.micro_batch));
  if (phases > kMostPhases) {
    problems.add({.path = "/strategy/data_parallel/iterations",
                  .found = std::to_string(s.async.iterations) + ", " + std::to_string(phases) +
                           " phases of micro-batches in all",
                  .expected = "at most " + std::to_string(kMostPhases) + " phases"});
  }
}

}  // namespace tsim::sim
