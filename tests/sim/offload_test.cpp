// Scenarios in which states and activations leave the device.
#include <doctest/doctest.h>

#include "sim/report/report.hpp"
#include "tests/sim/folding.hpp"
#include "tests/sim/host_boxes.hpp"

using namespace tsim;
using namespace tsim::testing;
using strategies::ActivationsAt;
using strategies::MemoryClass;
using strategies::StatesAt;
using strategies::Stream;

namespace {

constexpr BytesPerSecond kFree{1e18};

Bytes held(const sim::Report& r, std::size_t stage, MemoryClass c) {
  return r.stages[stage].peak[static_cast<std::size_t>(c)];
}

/// End of the last task on `stream`.
double end_of(const AnsweredRun& r, Stream stream) {
  double end = 0;
  for (std::size_t t = 0; t < r.simulation.graph.tasks.size(); ++t) {
    if (r.simulation.graph.tasks[t].stream == stream) {
      end = std::max(end, r.simulation.timeline.end[t]);
    }
  }
  return end;
}

double bytes_on(const AnsweredRun& r, Stream stream) {
  double sum = 0;
  for (const auto& task : r.simulation.graph.tasks) {
    if (task.kind == strategies::TaskKind::comm && task.stream == stream) {
      sum += to_double(r.simulation.graph.comms[task.work].payload);
    }
  }
  return sum;
}

/// One GPU, all of GPT-2's optimizer on the host; gradients of 4 bytes.
sim::Scenario one_gpu(const HostBox& box) {
  sim::Scenario s = host_sample("gpt2", {1, 1, 1}, box, 8, 4);
  s.strategy.offload.optimizer = StatesAt::cpu;
  s.strategy.offload.cpu_rate = 1e9;
  return s;
}

double parameters(const AnsweredRun& r) {
  return static_cast<double>(r.simulation.stages.front().elements);
}

}  // namespace

TEST_CASE("with free copies the host's step follows the last backward and is all that does") {
  const AnsweredRun r = run_and_answer(one_gpu({.card = kFree, .memory = kFree}));
  CHECK(r.report.step.value ==
        doctest::Approx(end_of(r, Stream::compute) + parameters(r) / 1e9).epsilon(1e-6));
}

TEST_CASE("every micro-batch's gradients go out, weights come back once") {
  const AnsweredRun r = run_and_answer(one_gpu({}));
  CHECK(bytes_on(r, Stream::copy_out) == 2 * 4 * parameters(r));
  CHECK(bytes_on(r, Stream::copy_in) == 2 * parameters(r));
  CHECK(held(r.report, 0, MemoryClass::optimizer) == Bytes{});
  REQUIRE(r.report.host);
  CHECK(to_double(r.report.host->optimizer) == 12 * parameters(r));
  CHECK(to_double(r.report.host->gradients) == 4 * parameters(r));
}

TEST_CASE("weights come back beside the step: the slower of the two sets the pace") {
  // 2 bytes a parameter over 1 GB/s take twice as long as 1e9 parameters a second.
  sim::Scenario s = one_gpu({.card = 1_GBps, .memory = kFree});
  s.workload.global_batch = 4;
  const AnsweredRun r = run_and_answer(s);
  const double gradients = end_of(r, Stream::copy_out);
  const double copies = 2 * parameters(r) / 1e9;
  const double first_piece = 25e6 / 1e9;  // a bucket of 25 MiB of fp32 is 6.6 M elements
  CHECK(r.report.step.value >= gradients + copies);
  CHECK(r.report.step.value <= gradients + copies + first_piece);
}

TEST_CASE("without clipping the host starts while the backward runs") {
  sim::Scenario s = one_gpu({.card = kFree, .memory = kFree});
  s.workload.global_batch = 4;
  const double clipped = run_and_answer(s).report.step.value;
  s.strategy.gradient_clipping = false;
  const AnsweredRun r = run_and_answer(s);
  CHECK(r.report.step.value < clipped);
  CHECK(r.report.step.value >= parameters(r) / 1e9);
}

TEST_CASE("two devices below one switch share its uplink, two root ports do not") {
  HostBox box{.per_switch = 2, .card = 1_GBps, .memory = kFree};
  const auto step = [](const HostBox& b) {
    sim::Scenario s = host_sample("gpt2", {1, 1, 2}, b, 8, 4);
    s.strategy.zero.stage = 2;
    s.strategy.offload.optimizer = StatesAt::cpu;
    s.strategy.offload.cpu_rate = 1e15;
    return run_and_answer(s);
  };
  const AnsweredRun shared = step(box);
  box.per_switch = 0;
  const AnsweredRun apart = step(box);
  // Each brings back half of the weights, 2 bytes each.
  const double alone = parameters(apart) / 1e9;
  const double of_apart = apart.report.step.value - end_of(apart, Stream::copy_out);
  const double of_shared = shared.report.step.value - end_of(shared, Stream::copy_out);
  CHECK(of_shared - of_apart == doctest::Approx(alone).epsilon(1e-3));
}

TEST_CASE("states on drives are read and written at the drives' rate") {
  // 12 bytes a parameter each way over two drives of 2 GB/s, both ways at once.
  HostBox box{.card = kFree, .memory = kFree, .drives = 2};
  sim::Scenario s = one_gpu(box);
  s.workload.global_batch = 4;
  s.strategy.offload.optimizer = StatesAt::nvme;
  s.strategy.offload.cpu_rate = 1e15;
  const AnsweredRun r = run_and_answer(s);
  const double one_way = 12 * parameters(r) / 4e9;
  CHECK(bytes_on(r, Stream::drive_in) == 12 * parameters(r));
  CHECK(bytes_on(r, Stream::drive_out) == 12 * parameters(r));
  const double after = r.report.step.value - end_of(r, Stream::compute);
  CHECK(after >= one_way);
  CHECK(after <= 1.1 * one_way);
  REQUIRE(r.report.host);
  CHECK(to_double(r.report.host->drives) == 12 * parameters(r));
  CHECK(r.report.host->optimizer == Bytes{});
}

TEST_CASE("parameters on the host come in twice a micro-batch, a rank's shard each time") {
  sim::Scenario s = host_sample("gpt2", {1, 1, 4}, {}, 8, 1);
  s.strategy.zero.stage = 3;
  s.strategy.offload.optimizer = StatesAt::cpu;
  s.strategy.offload.parameters = StatesAt::cpu;
  const AnsweredRun r = run_and_answer(s);
  // 2 bytes a parameter, a quarter of them. Embedding and tied head each bring the words' table of
  // 50257 x 768; two micro-batches, whose backwards find the head's and the last norm's still
  // there.
  const double words = 50257.0 * 768;
  const double moved = 4 * (parameters(r) + words) - 2 * (words + 2 * 768);
  CHECK(bytes_on(r, Stream::copy_in) == doctest::Approx(moved * 2 / 4).epsilon(1e-6));
  CHECK(held(r.report, 0, MemoryClass::parameters) == Bytes{});
  CHECK(held(r.report, 0, MemoryClass::optimizer) == Bytes{});
  REQUIRE(r.report.host);
  CHECK(to_double(r.report.host->parameters) == doctest::Approx(2 * parameters(r)).epsilon(1e-6));
}

TEST_CASE("one device alone brings whole blocks") {
  sim::Scenario s = one_gpu({});
  s.strategy.zero.stage = 3;
  s.strategy.offload.parameters = StatesAt::cpu;
  const AnsweredRun r = run_and_answer(s);
  CHECK(bytes_on(r, Stream::copy_in) > 3 * 2 * parameters(r));
  CHECK(held(r.report, 0, MemoryClass::parameters) == Bytes{});
}

TEST_CASE("folding changes nothing of what is offloaded") {
  for (const int stage : {1, 2, 3}) {
    CAPTURE(stage);
    sim::Scenario s = host_sample("gpt2", {1, 1, 4}, {.sockets = 2, .drives = 2}, 8, 1);
    s.strategy.zero.stage = stage;
    s.strategy.offload.optimizer = StatesAt::nvme;
    s.strategy.offload.activations = ActivationsAt::cpu;
    const sim::Report folded = run_and_answer(s).report;
    s.fold = sim::Fold::none;
    const sim::Report all = run_and_answer(s).report;
    check_folded(folded, all, 1e-6);
  }
}

TEST_CASE(
    "activations copied out for nothing leave the step as it is and two layers' on the device") {
  const sim::Scenario plain =
      host_sample("gpt2", {1, 1, 1}, {.card = kFree, .memory = kFree}, 8, 4);
  sim::Scenario s = plain;
  s.strategy.offload.activations = ActivationsAt::cpu;
  const AnsweredRun without = run_and_answer(plain);
  const AnsweredRun r = run_and_answer(s);
  CHECK(r.report.step.value == doctest::Approx(without.report.step.value).epsilon(1e-6));
  const auto& chunk = r.simulation.stages[0].chunks[0];
  const Bytes layer = Bytes{chunk.elsewhere.value / 11};  // of 12 layers the last one stays
  CHECK(held(without.report, 0, MemoryClass::activations) == chunk.activations + 11 * layer);
  CHECK(held(r.report, 0, MemoryClass::activations) <= chunk.activations + 2 * layer);
  REQUIRE(r.report.host);
  CHECK(r.report.host->activations == chunk.elsewhere);
}

TEST_CASE("a slow link holds up the forward that waits for room, and the backward") {
  sim::Scenario s = host_sample("gpt2", {1, 1, 1}, {.card = 1_GBps, .memory = kFree}, 4, 4);
  s.strategy.offload.activations = ActivationsAt::cpu;
  const AnsweredRun r = run_and_answer(s);
  const auto& chunk = r.simulation.stages[0].chunks[0];
  // Everything goes out and comes back; in between and after lie computations.
  CHECK(r.report.step.value >= 2 * to_double(chunk.elsewhere) / 1e9);
  CHECK(held(r.report, 0, MemoryClass::activations) <=
        chunk.activations + 3 * Bytes{chunk.elsewhere.value / 11});
}

TEST_CASE("an early stage keeps activations on the mirrored stage's device") {
  sim::Scenario s = host_sample("gpt2", {1, 4, 1}, {}, 8, 1);
  const AnsweredRun without = run_and_answer(s);
  s.strategy.offload.activations = ActivationsAt::peer;
  const AnsweredRun r = run_and_answer(s);
  const auto& first = r.simulation.stages[0].chunks[0];
  CHECK(first.elsewhere.value > 0);
  CHECK(r.simulation.stages[3].chunks[0].elsewhere == Bytes{});
  // 1F1B holds four micro-batches on the first stage, one on the last.
  CHECK(held(r.report, 0, MemoryClass::activations) <
        held(without.report, 0, MemoryClass::activations));
  CHECK(held(r.report, 3, MemoryClass::activations) ==
        held(without.report, 3, MemoryClass::activations) + 4 * first.elsewhere);
  CHECK_FALSE(r.report.host);
}

TEST_CASE("fit recomputes nothing with room, and just enough layers without") {
  sim::Scenario s = host_sample("gpt2", {1, 2, 1}, {}, 8, 2);
  s.model.vocab = 1024;  // the last stage's logits are small
  s.strategy.recompute_method = strategies::RecomputeMethod::fit;
  const AnsweredRun roomy = run_and_answer(s);
  CHECK(roomy.report.stages[0].fully + roomy.report.stages[0].selectively == 0);
  // A quarter of the first stage's activations have no room.
  const Bytes kept = held(roomy.report, 0, MemoryClass::activations);
  s.cluster.devices[0].memory = sim::total(roomy.report.stages[0].peak) - Bytes{kept.value / 4};
  const AnsweredRun tight = run_and_answer(s);
  CHECK(tight.report.fits);
  CHECK(tight.report.stages[0].fully + tight.report.stages[0].selectively > 0);
  CHECK(tight.report.stages[1].fully + tight.report.stages[1].selectively == 0);
}

TEST_CASE("a host too small is told") {
  sim::Scenario s = one_gpu({});
  s.strategy.offload.host_memory = 1_GiB;
  const AnsweredRun r = run_and_answer(s);
  CHECK_FALSE(r.report.fits);
  CHECK(r.report.kinds[0].fits);
  REQUIRE(r.report.host);
  CHECK_FALSE(r.report.host->fits);
}

TEST_CASE("in tiles a block's gathered weights take a part") {
  sim::Scenario s = host_sample("gpt2", {1, 1, 4}, {}, 4, 1);
  s.strategy.zero.stage = 3;
  s.strategy.zero.prefetch = 0;
  const Bytes whole = held(run_and_answer(s).report, 0, MemoryClass::buffers);
  s.strategy.tiling = 4;
  const Bytes tiles = held(run_and_answer(s).report, 0, MemoryClass::buffers);
  CHECK(tiles < whole);
}
