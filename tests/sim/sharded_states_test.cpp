// ZeRO and context ranks as events: what must hold of whole iterations.
#include <doctest/doctest.h>

#include <map>

#include "sim/report/report.hpp"
#include "sim/simulation.hpp"
#include "tests/sim/folding.hpp"
#include "tests/sim/sample_scenarios.hpp"

using namespace tsim;
using namespace tsim::testing;
using strategies::ContextAttention;
using strategies::MemoryClass;

namespace {

sim::Scenario zero_3(int data, std::int64_t batch = 1) {
  sim::Scenario s = sample("gpt3-1.3b", {1, 1, data}, data * batch, batch);
  s.strategy.zero.stage = 3;
  s.strategy.flash_attention = true;
  return s;
}

sim::Scenario context_of(ContextAttention attention, int context) {
  sim::Scenario s = sample("gpt3-1.3b", {2, 1, 2}, 4, 1);
  s.strategy.context = context;
  s.strategy.context_attention = attention;
  s.strategy.flash_attention = true;
  s.cluster = dgx(world_size(s.strategy));
  return s;
}

double compute_seconds(const sim::Report& r) { return r.stages.front().times.busy.value; }

}  // namespace

TEST_CASE("folding changes no figure with sharded states") {
  std::vector<sim::Scenario> all;
  for (const int stage : {1, 2, 3}) {
    for (const int group : {0, 4}) {
      sim::Scenario s = sample("gpt3-1.3b", {2, 1, 16}, 64, 2);
      s.strategy.zero.stage = stage;
      s.strategy.zero.shard_group = group;
      all.push_back(s);
    }
  }
  sim::Scenario plus = sample("gpt3-1.3b", {1, 1, 16}, 32, 1);
  plus.strategy.zero = {.stage = 3, .secondary_group = 8, .weight_bits = 8, .gradient_bits = 4};
  all.push_back(plus);
  sim::Scenario pipeline = sample("gpt3-1.3b", {1, 4, 4}, 32, 1);
  pipeline.strategy.zero = {.stage = 3, .with_pipeline = true};
  all.push_back(pipeline);
  for (const sim::Scenario& s : all) {
    CAPTURE(s.strategy.zero.stage);
    CAPTURE(s.strategy.zero.shard_group);
    const sim::Report folded = answer(s);
    const sim::Report each = answer(unfolded(s));
    check_folded(folded, each);
    CHECK(folded.model_flops.value == doctest::Approx(each.model_flops.value).epsilon(1e-12));
  }
}

TEST_CASE("a rank never holds more than two blocks' parameters beside its shard") {
  sim::Scenario s = zero_3(16);
  const sim::Report r = answer(s);
  const auto& peak = r.stages.front().peak;
  // 12 h^2 + 13 h elements a layer, 16 bit; the embedding's 50,257 or 50,304 x h count as a block.
  const std::int64_t h = s.model.hidden;
  const std::int64_t layer = 12 * h * h + 13 * h;
  const std::int64_t embedding = (s.model.vocab + s.model.max_positions) * h;
  const Bytes buffers = peak[static_cast<std::size_t>(MemoryClass::buffers)];
  CHECK(buffers <= Bytes{2 * (layer + embedding)});
  CHECK(buffers >= Bytes{2 * layer});
  const std::int64_t shard = models::parameters(s.model) / 16;
  CHECK(to_double(peak[static_cast<std::size_t>(MemoryClass::parameters)]) ==
        doctest::Approx(2.0 * static_cast<double>(shard)).epsilon(1e-6));
}

TEST_CASE("prefetch hides gathers behind compute, and never slows an iteration") {
  sim::Scenario s = zero_3(16, 4);
  const double with = answer(s).step.value;
  s.strategy.zero.prefetch = 0;
  const double without = answer(s).step.value;
  CHECK(with < without);
  s.strategy.zero.prefetch = 4;
  CHECK(answer(s).step.value <= with * (1 + 1e-9));
}

TEST_CASE("parameters that stay gathered are gathered once, and held") {
  sim::Scenario s = zero_3(16);
  const sim::Report freed = answer(s);
  s.strategy.zero.reshard = false;
  const sim::Report kept = answer(s);
  CHECK(kept.step.value < freed.step.value);
  CHECK(kept.needed > freed.needed);
}

TEST_CASE("hybrid sharding wins between slow nodes and is full sharding on one node") {
  // As reported for four nodes of a cloud: 86 % against 64 % scaling efficiency, on one node no
  // difference (oumi-ai/oumi, pull request 213).
  const auto steps = [](int nodes, int group) {
    sim::Scenario s = sample("gpt3-2.7b", {1, 1, 8 * nodes}, 8 * nodes, 1);
    s.strategy.zero = {.stage = 3, .shard_group = group};
    s.strategy.precision.gradient = models::DType::bf16;
    s.strategy.precision.reduction = models::DType::bf16;
    s.cluster = cost::build_cluster(
        {.name = "slow network",
         .device = ideal_a100(),
         .nodes = nodes,
         .devices_per_node = 8,
         .node = {.bandwidth = 300_GBps, .latency = 2_us},
         .network = {.nics_per_node = 8, .bandwidth = 25_Gbps, .latency = 5_us}});
    return answer(s).step.value;
  };
  CHECK(steps(1, 8) == doctest::Approx(steps(1, 0)).epsilon(1e-9));
  // 1.34 times as fast there, whose link speeds are not given.
  CHECK(steps(4, 8) < steps(4, 0) / 1.2);
}

TEST_CASE("the network that ZeRO-3 needs does not depend on the model's size") {
  // 6 bytes of traffic for 8 FLOPs of each parameter and token with recomputation [DeepSpeed issue
  // 2928]: a node with A achieved FLOP/s and T tokens needs 0.75 A / T bytes/s to hide everything.
  for (const char* model : {"gpt3-1.3b", "gpt3-6.7b"}) {
    sim::Scenario s = sample(model, {1, 1, 16}, 16, 1);
    s.strategy.zero.stage = 3;
    s.strategy.recompute = strategies::Recompute::full;
    s.strategy.precision.gradient = models::DType::fp16;
    s.strategy.precision.reduction = models::DType::fp16;
    const sim::Simulation run = run_scenario(s);
    double sent = 0;
    for (const strategies::Task& task : run.graph.tasks) {
      if (task.kind == strategies::TaskKind::comm) {
        sent += to_double(run.graph.comms[task.work].payload);
      }
    }
    const auto p = static_cast<double>(models::parameters(s.model));
    // Three times 2 bytes, but that the last block and the embedding stay or are shared.
    CHECK(sent == doctest::Approx(6 * p).epsilon(0.12));
  }
}

TEST_CASE("context ranks share the work of an iteration evenly") {
  const double alone = compute_seconds(answer(context_of(ContextAttention::ring, 1)));
  for (const auto attention :
       {ContextAttention::ring, ContextAttention::all_gather, ContextAttention::ulysses}) {
    CAPTURE(name_of(attention));
    const sim::Scenario s = context_of(attention, 4);
    const sim::Report r = answer(s);
    // A quarter of the tokens and of the attention; kernels' launches and the optimizer stay.
    CHECK(compute_seconds(r) == doctest::Approx(alone / 4).epsilon(0.1));
    CHECK(r.model_flops.value ==
          doctest::Approx(answer(context_of(attention, 1)).model_flops.value).epsilon(1e-9));
    CHECK(answer(unfolded(s)).step.value == doctest::Approx(r.step.value).epsilon(1e-9));
  }
}

TEST_CASE("keys and values go round in c - 1 messages, with gradients in c") {
  const sim::Scenario s = context_of(ContextAttention::ring, 4);
  const sim::Simulation run = run_scenario(s);
  std::map<std::int64_t, int> messages;  // by size
  for (const strategies::Task& task : run.graph.tasks) {
    if (task.kind == strategies::TaskKind::comm && task.stream == strategies::Stream::cp) {
      ++messages[run.graph.comms[task.work].payload.value];
    }
  }
  // Keys and values of 2048 / 4 tokens, half of 2048 units on each of two tensor ranks, 16 bit; two
  // micro-batches of 24 layers.
  const std::int64_t part = 2 * 512 * 1024 * 2;
  CHECK(messages[part] == 2 * 24 * (3 + 1));
  CHECK(messages[2 * part] == 2 * 24 * 3);
}

TEST_CASE("zigzag parts balance a causal mask") {
  sim::Scenario s = context_of(ContextAttention::ring, 4);
  s.workload.sequence = 32768;
  s.model.max_positions = 32768;
  s.workload.global_batch = 2;
  const sim::Report even = answer(s);
  s.strategy.zigzag = false;
  const sim::Simulation run = run_scenario(s);
  const sim::Report uneven = summarise(s, run);
  CHECK(uneven.step > even.step);
  // Every context rank is simulated, and the last one works longest: whole blocks where zigzag has
  // halves. Attention is then 3.5 / 2 of its even share.
  CHECK(uneven.simulated_ranks == 8);
  CHECK(uneven.hardware_flops.value == doctest::Approx(even.hardware_flops.value).epsilon(0.01));
}
