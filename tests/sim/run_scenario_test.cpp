// Whole scenarios: what must hold of any answer.
#include <doctest/doctest.h>

#include "sim/report/hints.hpp"
#include "sim/report/report.hpp"
#include "tests/sim/sample_scenarios.hpp"

using namespace tsim;
using namespace tsim::testing;
using strategies::MemoryClass;

namespace {

Bytes held(const sim::StageReport& stage, MemoryClass c) {
  return stage.peak[static_cast<std::size_t>(c)];
}

}  // namespace

TEST_CASE("folding symmetric ranks changes no figure") {
  for (const Degrees degrees :
       {Degrees{4, 2, 2}, Degrees{8, 2, 1}, Degrees{1, 4, 4}, Degrees{2, 1, 8}, Degrees{2, 4, 4}}) {
    sim::Scenario s = sample("gpt3-1.3b", degrees, 64, 2);
    s.strategy.recompute = strategies::Recompute::selective;
    const sim::Report folded = answer(s);
    const sim::Report all = answer(unfolded(s));
    CAPTURE(degrees.tensor);
    CAPTURE(degrees.pipeline);
    CAPTURE(degrees.data);
    CHECK(folded.simulated_ranks == static_cast<std::size_t>(degrees.pipeline));
    CHECK(all.simulated_ranks == static_cast<std::size_t>(world_size(s.strategy)));
    CHECK(folded.step.value == doctest::Approx(all.step.value).epsilon(1e-9));
    CHECK(folded.needed == all.needed);
    CHECK(folded.model_flops.value == doctest::Approx(all.model_flops.value).epsilon(1e-12));
    CHECK(folded.exposed_fraction == doctest::Approx(all.exposed_fraction).epsilon(1e-9));
    CHECK(folded.bubble_fraction == doctest::Approx(all.bubble_fraction).epsilon(1e-9));
  }
}

TEST_CASE("step by step an iteration takes as long as with its rings' steps added up") {
  // Nothing meets: tensor groups have a switch of their own, gradients follow the last backward.
  for (const Degrees degrees : {Degrees{4, 1, 1}, Degrees{1, 1, 8}, Degrees{2, 2, 1}}) {
    CAPTURE(degrees.tensor);
    CAPTURE(degrees.data);
    sim::Scenario s = sample("gpt3-1.3b", degrees, 16, 2);
    s.strategy.collective = "ring";
    s.strategy.overlap_gradients = false;
    s.strategy.overlap_tensor = false;
    const sim::Report flows = answer(s);
    s.strategy.fidelity = strategies::Fidelity::steps;
    const sim::Report steps = answer(s);
    CHECK(steps.step.value == doctest::Approx(flows.step.value).epsilon(1e-9));
    CHECK(steps.simulated_ranks == static_cast<std::size_t>(world_size(s.strategy)));
    CHECK(steps.needed == flows.needed);
  }
}

// Eight tensor ranks are eight replicas' rings at a time over one NIC: either way it is the limit.
TEST_CASE("step by step, gradient rings that meet on a NIC wait for it as flows do") {
  sim::Scenario s = sample("gpt3-1.3b", {8, 1, 2}, 16, 2);
  s.cluster = cost::build_cluster(
      {.name = "one nic",
       .device = ideal_a100(),
       .nodes = 2,
       .devices_per_node = 8,
       .node = {.bandwidth = 300_GBps, .latency = 2_us},
       .network = {.nics_per_node = 1, .bandwidth = 200_Gbps, .latency = 5_us}});
  s.strategy.collective = "ring";
  s.strategy.overlap_gradients = false;
  const sim::Report flows = answer(unfolded(s));
  s.strategy.fidelity = strategies::Fidelity::steps;
  CHECK(answer(s).step.value == doctest::Approx(flows.step.value).epsilon(1e-3));
}

TEST_CASE("folded copies that share a NIC slow each other down as when simulated apart") {
  // Two replicas of TP8 in two nodes with two NICs each: four gradient rings share one.
  sim::Scenario s = sample("gpt3-1.3b", {8, 1, 2}, 16, 2);
  s.cluster = cost::build_cluster(
      {.name = "two nics",
       .device = ideal_a100(),
       .nodes = 2,
       .devices_per_node = 8,
       .node = {.bandwidth = 300_GBps, .latency = 2_us},
       .network = {.nics_per_node = 2, .bandwidth = 200_Gbps, .latency = 5_us}});
  s.strategy.overlap_gradients = false;
  const sim::Report folded = answer(s);
  const sim::Report all = answer(unfolded(s));
  CHECK(folded.simulated_ranks == 1);
  CHECK(folded.step.value == doctest::Approx(all.step.value).epsilon(1e-9));
  sim::Scenario eight_nics = sample("gpt3-1.3b", {8, 1, 2}, 16, 2);
  eight_nics.strategy.overlap_gradients = false;
  CHECK(answer(eight_nics).step.value < 0.9 * folded.step.value);
}

TEST_CASE("all rates k times as high and latencies k times as low make the step k times as short") {
  const double k = 3;
  sim::Scenario slow = sample("gpt3-1.3b", {2, 2, 2}, 16, 2);
  sim::Scenario fast = slow;
  cost::Device& d = fast.cluster.devices.front();
  d.memory_bandwidth = d.memory_bandwidth * k;
  d.vector_peak = d.vector_peak * k;
  for (cost::PeakRate& p : d.matrix_peaks) { p.rate = p.rate * k; }
  for (cost::Link& l : fast.cluster.topology.links) {
    l.bandwidth = l.bandwidth * k;
    l.latency = l.latency / k;
  }
  finish(fast.cluster.topology);
  CHECK(answer(fast).step.value == doctest::Approx(answer(slow).step.value / k).epsilon(1e-9));
}

TEST_CASE("one device takes what its kernels take, one after the other") {
  const sim::Scenario s = sample("bert-base", {1, 1, 1}, 8, 4);
  const sim::Simulation run = run_scenario(s);
  const sim::Report r = summarise(s, run);
  const auto& chunk = run.stages.front().chunks.front();
  const Seconds sum = 2.0 * (compute_time(chunk.forward) + compute_time(chunk.backward)) +
                      run.stages.front().optimizer;
  CHECK(r.step.value == doctest::Approx(sum.value).epsilon(1e-12));
  CHECK(r.bubble_fraction == doctest::Approx(0));
  CHECK(r.exposed_fraction == doctest::Approx(0));
}

TEST_CASE("the critical path adds up to the step, and so do busy, exposed and idle") {
  const sim::Report r = answer(sample("gpt3-1.3b", {2, 4, 2}, 32, 1));
  Seconds path;
  for (const sim::PathRow& row : r.critical_path) { path += row.time; }
  CHECK(path.value == doctest::Approx(r.step.value).epsilon(1e-9));
  CHECK(r.busy_fraction + r.exposed_fraction + r.bubble_fraction == doctest::Approx(1));
  for (const sim::StageReport& stage : r.stages) {
    const sim::RankTimes& t = stage.times;
    CHECK((t.busy + t.exposed + t.idle).value == doctest::Approx(r.step.value).epsilon(1e-9));
  }
}

TEST_CASE("a data-parallel job has no bubble") {
  const sim::Report r = answer(sample("bert-base", {1, 1, 8}, 256, 32));
  CHECK(r.bubble_fraction == doctest::Approx(0).epsilon(1e-9));
  CHECK(r.busy_fraction > 0);
}

TEST_CASE("parameters, layers and FLOPs of all stages sum to the model's") {
  // 40 layers in 16 stages: balanced, none vanishes.
  sim::Scenario s = sample("gpt3-13b", {1, 16, 1}, 16, 1);
  s.strategy.split = strategies::LayerSplit::balanced;
  const sim::Report r = answer(s);
  int layers = 0;
  std::int64_t elements = 0;
  for (const sim::StageReport& stage : r.stages) {
    CHECK(stage.layers >= 1);
    layers += stage.layers;
    elements += stage.parameters;
  }
  CHECK(layers == 40);
  const std::int64_t second_copy = s.model.vocab * s.model.hidden;  // the tied head's
  CHECK(elements == models::parameters(s.model) + second_copy);
}

TEST_CASE("a list of layers decides which stage is heaviest") {
  // Eight layers as 1, 2, 2, 3: the last stage has three, and the head.
  sim::Scenario s = sample("gpt2", {1, 4, 1}, 8, 1);
  s.model.layers = 8;
  s.strategy.split = strategies::LayerSplit::list;
  s.strategy.layers_per_stage = {1, 2, 2, 3};
  const sim::Report r = answer(s);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(r.stages[i].layers == s.strategy.layers_per_stage[i]);
  }
  CHECK(r.heaviest_stage == 3);
  const std::int64_t layer = r.stages[2].parameters / 2;
  CHECK(r.stages[1].parameters == 2 * layer);
  CHECK(r.stages[3].parameters > 3 * layer);
  CHECK(r.stages[1].times.busy < r.stages[3].times.busy);
}

TEST_CASE("logits of the last stage count with the padded vocabulary in fp32") {
  // GPT-2 large, V = 50304, s = 1024, b = 4: 786 MiB for one fp32 copy; nothing on other stages.
  sim::Scenario s = sample("gpt2-large", {1, 2, 1}, 16, 4);
  s.model.vocab = 50304;
  const sim::Report r = answer(s);
  CHECK(held(r.stages[0], MemoryClass::logits).value == 0);
  CHECK(held(r.stages[1], MemoryClass::logits).value >= 4LL * 1024 * 50304 * 4);
  CHECK(4LL * 1024 * 50304 * 4 == 786LL << 20);
}

TEST_CASE("gradient buckets hide behind the backward and cost nothing when alone") {
  sim::Scenario s = sample("bert-large", {1, 1, 8}, 128, 16);
  const sim::Report hidden = answer(s);
  s.strategy.overlap_gradients = false;
  const sim::Report exposed = answer(s);
  CHECK(hidden.step < exposed.step);
  CHECK(hidden.exposed_fraction < 0.2 * exposed.exposed_fraction);
  CHECK(hidden.model_flops.value == doctest::Approx(exposed.model_flops.value));
}

TEST_CASE("overlapping a bandwidth-bound all-reduce never hides it whole") {
  // A wire 1000 times slower: the step is the communication, 2(n-1)/n S/B, and ten times longer
  // with a tenth of the bandwidth.
  const auto with_bandwidth = [](double factor) {
    sim::Scenario s = sample("bert-base", {1, 1, 4}, 4, 1);
    for (cost::Link& l : s.cluster.topology.links) { l.bandwidth = l.bandwidth * factor; }
    finish(s.cluster.topology);
    return answer(s).step.value;
  };
  const double slow = with_bandwidth(1e-3);
  CHECK(with_bandwidth(1e-4) / slow == doctest::Approx(10).epsilon(0.01));
}

TEST_CASE("a run that needs more than the device has does not fit, and hints say what helps") {
  sim::Scenario s = sample("gpt3-13b", {1, 1, 8}, 64, 8);
  const sim::Report r = answer(s);
  CHECK_FALSE(r.fits);
  CHECK(r.needed > r.capacity);
  REQUIRE_FALSE(r.hints.empty());
  CHECK(r.hints.front().find("GiB") != std::string::npos);
  s.strategy.zero.stage = 1;
  CHECK(answer(s).needed < r.needed);
}

TEST_CASE("the allowance for fragmentation is on its own line and counts in the verdict") {
  sim::Scenario s = sample("gpt2", {1, 1, 1}, 4, 4);
  const Bytes plain = answer(s).needed;
  s.allowance = 0.25;
  const sim::Report r = answer(s);
  CHECK(r.needed == plain + r.allowance);
  CHECK(to_double(r.allowance) == doctest::Approx(0.25 * to_double(plain)));
}

TEST_CASE("forward only streams micro-batches and keeps nothing") {
  sim::Scenario s = sample("bert-base", {1, 4, 1}, 64, 4);
  s.workload.training = false;
  const sim::Report r = answer(s);
  for (const sim::StageReport& stage : r.stages) {
    CHECK(held(stage, MemoryClass::activations).value == 0);
    CHECK(held(stage, MemoryClass::optimizer).value == 0);
    CHECK(held(stage, MemoryClass::gradients).value == 0);
    CHECK(stage.in_flight == 0);
  }
  sim::Scenario training = s;
  training.workload.training = true;
  CHECK(answer(training).model_flops.value ==
        doctest::Approx(3 * r.model_flops.value).epsilon(0.02));
}

TEST_CASE("the same scenario gives the same bytes") {
  const sim::Scenario s = sample("gpt3-1.3b", {2, 2, 2}, 32, 2);
  const sim::Simulation first = run_scenario(s);
  const sim::Simulation second = run_scenario(s);
  CHECK(first.timeline.end == second.timeline.end);
  CHECK(first.timeline.start == second.timeline.start);
}

TEST_CASE("a forward pass of an interleaved pipeline runs all layers") {
  sim::Scenario s = sample("bert-base", {1, 4, 1}, 64, 4);
  s.workload.training = false;
  const sim::Report plain = answer(s);
  s.strategy.schedule = "interleaved";
  s.strategy.chunks = 3;
  const sim::Report chunked = answer(s);
  CHECK(chunked.model_flops.value == doctest::Approx(plain.model_flops.value).epsilon(1e-12));
  CHECK(plain.stages.front().in_flight == 0);  // nothing is kept
}

TEST_CASE("sequence parallel stages send their part of the activations, once cut") {
  // s b h 2 bytes = 2048 x 1 x 2048 x 2 = 8 MiB, of which each of 4 ranks holds 2 MiB.
  const auto message = [](bool sequence_parallel, bool scatter_gather) {
    sim::Scenario s = sample("gpt3-1.3b", {4, 2, 1}, 4, 1);
    s.strategy.sequence_parallel = sequence_parallel;
    s.strategy.scatter_gather = scatter_gather;
    for (const sim::CommRow& row : answer(s).communications) {
      if (row.label == "pipeline transfer") { return row.payload; }
    }
    return Bytes{};
  };
  CHECK(message(false, false) == 8_MiB);
  CHECK(message(false, true) == 2_MiB);
  CHECK(message(true, false) == 2_MiB);
  CHECK(message(true, true) == 2_MiB);
}

TEST_CASE("without overlap no gradient moves before the stage's last backward") {
  sim::Scenario s = sample("gpt2", {1, 2, 2}, 16, 2);
  s.strategy.schedule = "interleaved";
  s.strategy.chunks = 2;
  s.strategy.overlap_gradients = false;
  const sim::Simulation run = run_scenario(s);
  std::vector<double> last_backward(2, 0.0);
  std::vector<double> first_sync(2, 1e9);
  for (std::size_t t = 0; t < run.graph.tasks.size(); ++t) {
    const strategies::Task& task = run.graph.tasks[t];
    const bool compute = task.kind == strategies::TaskKind::compute;
    const std::uint32_t rank = compute ? task.place : run.graph.groups[task.place].front();
    const auto stage = static_cast<std::size_t>(run.graph.ranks[rank].stage);
    if (compute && task.phase == strategies::Phase::backward) {
      last_backward[stage] = std::max(last_backward[stage], run.timeline.end[t]);
    } else if (task.stream == strategies::Stream::dp) {
      first_sync[stage] = std::min(first_sync[stage], run.timeline.start[t]);
    }
  }
  CHECK(first_sync[0] >= last_backward[0]);
  CHECK(first_sync[1] >= last_backward[1]);
}
