// Several kinds of device in one cluster.
#include <doctest/doctest.h>

#include "cost/wiring/node_designs.hpp"
#include "sim/report/report.hpp"
#include "tests/sim/sample_scenarios.hpp"

using namespace tsim;
using namespace tsim::testing;

namespace {

/// Everything takes twice as long.
cost::Device half_as_fast() {
  cost::Device d = ideal_a100();
  d.name = "half";
  d.memory_bandwidth = 1000_GBps;
  d.matrix_peaks = {{models::DType::fp16, 156_TFLOPs}, {models::DType::bf16, 156_TFLOPs}};
  d.vector_peak = FlopsPerSecond{9.5e12};
  return d;
}

/// A node for each entry of `kinds`: two devices of that kind, a NIC each.
cost::Cluster nodes_of(const std::vector<cost::Device>& devices, const std::vector<int>& kinds) {
  cost::ClusterDesign design{"mixed", devices, {}, {}, {}};
  for (const int kind : kinds) {
    cost::NodeDesign node = cost::nvswitch_design(2, {{300_GBps, 1_us}});
    for (int d = 0; d < 2; ++d) {
      node.devices[static_cast<std::size_t>(d)].kind = kind;
      node.nics.push_back({{}, {200_Gbps, 2_us}, {d}});
    }
    design.nodes.push_back({std::move(node), 1});
  }
  return build_cluster(design);
}

sim::Scenario on(Degrees degrees, cost::Cluster cluster) {
  sim::Scenario s = sample("gpt3-1.3b", degrees, 16, 1);
  s.cluster = std::move(cluster);
  return s;
}

}  // namespace

TEST_CASE("one slow node sets the pace of data parallelism") {
  const std::vector<cost::Device> both{ideal_a100(), half_as_fast()};
  const Degrees dp{2, 1, 2};
  const double fast = answer(on(dp, nodes_of({ideal_a100()}, {0, 0}))).step.value;
  const double slow = answer(on(dp, nodes_of({half_as_fast()}, {0, 0}))).step.value;
  const double mixed = answer(on(dp, nodes_of(both, {0, 1}))).step.value;
  CHECK(slow > 1.5 * fast);
  CHECK(mixed == doctest::Approx(slow).epsilon(1e-9));
  CHECK(answer(on(dp, nodes_of(both, {1, 0}))).step.value == doctest::Approx(slow).epsilon(1e-9));
  CHECK(answer(on(dp, nodes_of(both, {0, 0}))).step.value == doctest::Approx(fast).epsilon(1e-9));
}

TEST_CASE("one slow device sets the pace of its tensor-parallel group") {
  cost::Cluster cluster = nodes_of({ideal_a100(), half_as_fast()}, {0, 0});
  const double fast = answer(on({2, 1, 2}, cluster)).step.value;
  cluster.topology.device_kind = {0, 1, 0, 0};
  const double mixed = answer(on({2, 1, 2}, cluster)).step.value;
  cluster.topology.device_kind = {1, 1, 1, 1};
  CHECK(mixed == doctest::Approx(answer(on({2, 1, 2}, cluster)).step.value).epsilon(1e-9));
  CHECK(mixed > 1.5 * fast);
}

TEST_CASE("balanced layers give a slow stage fewer of them") {
  sim::Scenario s = on({2, 2, 1}, nodes_of({ideal_a100(), half_as_fast()}, {0, 1}));
  const double even = answer(s).step.value;
  s.strategy.split = strategies::LayerSplit::balanced;
  const sim::Report r = answer(s);
  CHECK(r.stages[0].layers + r.stages[1].layers == 24);
  CHECK(r.stages[0].layers > 14);  // twice as fast: 16, less what the head weighs
  CHECK(r.step.value < 0.85 * even);
}

TEST_CASE("ranks on different kinds are not folded into one, ranks on the same are") {
  const std::vector<cost::Device> both{ideal_a100(), half_as_fast()};
  // Replicas on different nodes: only the tensor axis is alike.
  CHECK(answer(on({2, 1, 2}, nodes_of(both, {0, 1}))).simulated_ranks == 2);
  // Stages on different nodes: replicas inside a node are alike.
  CHECK(answer(on({1, 2, 2}, nodes_of(both, {0, 1}))).simulated_ranks == 2);
  for (const Degrees degrees : {Degrees{2, 1, 2}, Degrees{1, 2, 2}, Degrees{2, 2, 1}}) {
    sim::Scenario s = on(degrees, nodes_of(both, {0, 1}));
    const double folded = answer(s).step.value;
    s.fold = sim::Fold::none;
    const sim::Report all = answer(s);
    CHECK(all.simulated_ranks == 4);
    CHECK(folded == doctest::Approx(all.step.value).epsilon(1e-9));
  }
}

TEST_CASE("each kind of device has a memory verdict of its own") {
  cost::Device small = half_as_fast();
  const Bytes needed = answer(on({2, 1, 2}, nodes_of({small}, {0, 0}))).needed;
  small.memory = needed - Bytes{1};
  const sim::Report r = answer(on({2, 1, 2}, nodes_of({ideal_a100(), small}, {0, 1})));
  REQUIRE(r.kinds.size() == 2);
  CHECK(r.kinds[0].device == "ideal-a100");
  CHECK(r.kinds[0].devices == 2);
  CHECK(r.kinds[0].fits);
  CHECK(r.kinds[1].rank == 2);
  CHECK(r.kinds[1].needed == needed);
  CHECK_FALSE(r.kinds[1].fits);
  CHECK_FALSE(r.fits);
  CHECK(r.capacity == small.memory);
  CHECK(r.device == "half");
}

TEST_CASE("utilisation counts the peak of every device") {
  const sim::Report r = answer(on({2, 1, 2}, nodes_of({ideal_a100(), half_as_fast()}, {0, 1})));
  // Two devices of 312 TFLOP/s, two of 156.
  CHECK(r.mfu == doctest::Approx(r.model_flops.value / r.step.value / (2 * 312e12 + 2 * 156e12))
                     .epsilon(1e-9));
}
