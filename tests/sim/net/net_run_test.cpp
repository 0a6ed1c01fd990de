// Collectives size by size, alone and beside others: what must hold on any wiring.
#include "sim/net/net_run.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "tests/cost/clusters.hpp"

using namespace tsim;
using namespace tsim::literals;
using namespace tsim::cost;
using namespace tsim::cost::testing;
using doctest::Approx;
using sim::NetOp;
using sim::net_row;

namespace {

constexpr std::array kOps{
    CollectiveOp::all_reduce, CollectiveOp::reduce_scatter, CollectiveOp::all_gather,
    CollectiveOp::broadcast,  CollectiveOp::reduce,         CollectiveOp::scatter,
    CollectiveOp::gather,     CollectiveOp::all_to_all,     CollectiveOp::send_recv};

sim::NetRow row(Bench& b, const NetOp& op, Bytes size, bool steps = false) {
  return net_row({op, steps, {}}, size, b.router);
}

/// Two nodes of two devices that share one NIC a node.
ClusterSpec shared_nic() {
  return nvswitch_cluster(2, 2, {.nics_per_node = 1, .bandwidth = {25e9}, .latency = {5e-6}});
}

/// All rates and the inverse of all latencies times `factor`.
ClusterSpec scaled(ClusterSpec spec, double factor) {
  spec.node.bandwidth = factor * spec.node.bandwidth;
  spec.node.latency = spec.node.latency / factor;
  spec.node.host_latency = spec.node.host_latency / factor;
  spec.network.bandwidth = factor * spec.network.bandwidth;
  spec.network.latency = spec.network.latency / factor;
  return spec;
}

std::vector<ClusterSpec> wirings() {
  std::vector<ClusterSpec> all{nvswitch_node(8, {300e9}, {3e-6}), shared_nic()};
  ClusterSpec pcie = nvswitch_node(8, {24e9}, {2e-6});
  pcie.node.kind = NodeKind::pcie;
  pcie.node.devices_per_switch = 4;
  pcie.node.host_latency = {1e-6};
  all.push_back(pcie);
  ClusterSpec direct = nvswitch_node(4, {50e9}, {1e-6});
  direct.node.kind = NodeKind::direct;
  all.push_back(direct);
  all.push_back(
      nvswitch_cluster(3, 4, {.nics_per_node = 2, .bandwidth = {25e9}, .latency = {5e-6}}));
  return all;
}

}  // namespace

// The message has S - alpha B left when the ring's S join it at 2 alpha, and half the NIC's way out
// from then on: it ends at 2 S / B. The ring has alpha B left then, alone: 2 S / B + alpha.
TEST_CASE("a stage's message and a gradient ring that share a NIC get half of it each") {
  Bench b(shared_nic());
  const NetOp message{CollectiveOp::send_recv, "auto", {0, 2}};
  const NetOp gradients{CollectiveOp::all_reduce, "ring", {1, 3}};
  const auto both = net_row({message, false, {{gradients, 100_MB}}}, 100_MB, b.router);
  const double alpha = 5e-6, whole = 100e6 / 25e9;
  CHECK(both.alone.value == Approx(alpha + whole).epsilon(1e-12));
  CHECK(both.time.value == Approx(2 * whole).epsilon(1e-9));
  CHECK(both.beside[0].value == Approx(2 * whole + alpha).epsilon(1e-9));
}

// Rings of two ranks send S each way. Three of them share the NIC: each takes 3 S / B.
TEST_CASE("tensor, data and pipeline traffic on one NIC takes as long as all of it together") {
  Bench b(nvswitch_cluster(2, 3, {.nics_per_node = 1, .bandwidth = {25e9}, .latency = {0}}));
  const NetOp tensor{CollectiveOp::all_reduce, "ring", {0, 3}};
  const NetOp data{CollectiveOp::all_reduce, "ring", {1, 4}};
  const NetOp pipeline{CollectiveOp::send_recv, "auto", {2, 5}};
  const auto all = net_row({tensor, false, {{data, 50_MB}, {pipeline, 50_MB}}}, 50_MB, b.router);
  for (const Seconds time : {all.time, all.beside[0], all.beside[1]}) {
    CHECK(time.value == Approx(3 * 50e6 / 25e9).epsilon(1e-9));
  }
  const auto steps = net_row({tensor, true, {{data, 50_MB}, {pipeline, 50_MB}}}, 50_MB, b.router);
  CHECK(std::max(steps.time, steps.beside[1]).value == Approx(3 * 50e6 / 25e9).epsilon(1e-9));
}

TEST_CASE("collectives on disjoint links run as if alone") {
  Bench b(nvswitch_cluster(2, 4, {.nics_per_node = 4, .bandwidth = {25e9}, .latency = {5e-6}}));
  const NetOp near{CollectiveOp::all_reduce, "ring", {0, 1, 2, 3}};
  const NetOp far{CollectiveOp::all_reduce, "ring", {4, 5, 6, 7}};
  for (const bool steps : {false, true}) {
    const auto both = net_row({near, steps, {{far, 64_MB}}}, 64_MB, b.router);
    CHECK(both.time.value == Approx(both.alone.value).epsilon(1e-9));
    CHECK(both.beside[0].value == Approx(both.alone.value).epsilon(1e-9));
  }
}

TEST_CASE("twice the rates and half the latencies take half the time, step by step too") {
  for (const ClusterSpec& spec : wirings()) {
    Bench slow(spec), fast(scaled(spec, 2));
    const auto devices = first_devices(device_count(slow.cluster));
    for (const CollectiveOp op : kOps) {
      for (const bool steps : {false, true}) {
        CAPTURE(name_of(op));
        CAPTURE(steps);
        // By name: the choice may hang on the size.
        const NetOp one{op, std::string(collective_algorithms(op)[0]), devices};
        CHECK(2 * row(fast, one, 3_MB, steps).time.value ==
              Approx(row(slow, one, 3_MB, steps).time.value).epsilon(1e-9));
      }
    }
  }
}

TEST_CASE("no link is used more than all the time, and the busiest nearly so for large sizes") {
  for (const ClusterSpec& spec : wirings()) {
    Bench b(spec);
    const auto devices = first_devices(device_count(b.cluster));
    for (const CollectiveOp op : kOps) {
      CAPTURE(name_of(op));
      for (const bool steps : {false, true}) {
        const auto r = row(b, {op, "auto", devices}, 1_GB, steps);
        const double busiest = *std::ranges::max_element(r.wire_seconds);
        CHECK(busiest <= r.time.value * (1 + 1e-9));
        if (!steps) { CHECK(busiest >= 0.9 * r.time.value); }
      }
    }
  }
}

// Every rank of a ring sends and receives what the bus bandwidth counts, over its own link.
TEST_CASE("a ring's bus bandwidth never exceeds the slowest link that its ranks share") {
  for (const ClusterSpec& spec : wirings()) {
    Bench b(spec);
    const int n = device_count(b.cluster);
    double slowest = 1e30;
    const auto r = row(b, {CollectiveOp::all_reduce, "ring", first_devices(n)}, 1_GB);
    for (std::size_t c = 0; c < r.channel_bytes.size(); ++c) {
      if (r.channel_bytes[c] > 0) {
        slowest = std::min(slowest, b.cluster.topology.channels[c].bandwidth.value);
      }
    }
    // Rings side by side over several NICs of a node add up.
    const double nics = spec.nodes > 1 ? spec.network.nics_per_node : 1;
    for (const CollectiveOp op :
         {CollectiveOp::all_reduce, CollectiveOp::all_gather, CollectiveOp::reduce_scatter}) {
      const NetOp one{op, "ring", first_devices(n)};
      // Four devices linked pair by pair have three rings at once, one for each link of a device.
      const double links = spec.node.kind == NodeKind::direct ? 3 : 1;
      for (const bool steps : {false, true}) {
        CHECK(bus_bandwidth(row(b, one, 1_GB, steps), one) <= slowest * nics * links * (1 + 1e-9));
      }
    }
  }
}

TEST_CASE("ranks renamed among the devices of a switch change nothing") {
  Bench b(nvswitch_node(8, {300e9}, {3e-6}));
  for (const CollectiveOp op : kOps) {
    for (const bool steps : {false, true}) {
      CAPTURE(name_of(op));
      CHECK(row(b, {op, "auto", {5, 2, 7, 0, 4}}, 9_MB, steps).time.value ==
            Approx(row(b, {op, "auto", {0, 1, 2, 3, 4}}, 9_MB, steps).time.value).epsilon(1e-9));
    }
  }
}

TEST_CASE("no bytes, one byte, one rank and odd numbers of ranks are nothing special") {
  for (const ClusterSpec& spec : wirings()) {
    Bench b(spec);
    for (const CollectiveOp op : kOps) {
      for (const bool steps : {false, true}) {
        CAPTURE(name_of(op));
        CHECK(row(b, {op, "auto", {1}}, 1_MB, steps).time.value == 0);
        const double none = row(b, {op, "auto", {0, 1, 2}}, 0_B, steps).time.value;
        const double one = row(b, {op, "auto", {0, 1, 2}}, 1_B, steps).time.value;
        CHECK(none > 0);
        CHECK(one >= none);
        CHECK(one < none * 1.01);
        CHECK(row(b, {op, "auto", {0, 1, 2}}, 1_MB, steps).time.value > one);
      }
    }
  }
}

// nccl-tests, doc/PERFORMANCE.md.
TEST_CASE("bus bandwidth is algorithm bandwidth times the collective's factor") {
  CHECK(bus_factor(CollectiveOp::all_reduce, 8) == 2 * 7.0 / 8);
  CHECK(bus_factor(CollectiveOp::all_gather, 8) == 7.0 / 8);
  CHECK(bus_factor(CollectiveOp::all_to_all, 2) == 0.5);
  CHECK(bus_factor(CollectiveOp::broadcast, 8) == 1);
  Bench b(nvswitch_node(8, {100e9}, {0}));
  const NetOp gather{CollectiveOp::all_gather, "ring", first_devices(8)};
  CHECK(algorithm_bandwidth(row(b, gather, 800_MB)) == Approx(100e9 * 8 / 7).epsilon(1e-9));
  CHECK(bus_bandwidth(row(b, gather, 800_MB), gather) == Approx(100e9).epsilon(1e-9));
}

TEST_CASE("step by step, auto takes the fastest algorithm that has steps") {
  ClusterSpec spec = nvswitch_node(8, {300e9}, {3e-6});
  spec.node.in_switch_reduction = true;
  Bench b(spec);
  const NetOp op{CollectiveOp::all_reduce, "auto", first_devices(8)};
  CHECK(row(b, op, 1_GB).algorithm == "in_switch");
  CHECK(row(b, op, 1_GB, true).algorithm == "ring");
  CHECK_THROWS_WITH(row(b, {op.op, "in_switch", op.devices}, 1_GB, true),
                    "in_switch: has no steps from rank to rank on these devices");
}

// Two servers apart: each of the 2 workers pushes S / 2 to both and gets as much back.
TEST_CASE("parameter servers apart carry all workers' bytes") {
  Bench b(nvswitch_node(4, {100e9}, {0}));
  NetOp op{CollectiveOp::all_reduce, "auto", {0, 1}};
  op.servers = {2, 3};
  CHECK(row(b, op, 100_MB).time.value == Approx(2 * 100e6 / 100e9).epsilon(1e-9));
  op.servers = {2};
  CHECK(row(b, op, 100_MB).time.value == Approx(2 * 200e6 / 100e9).epsilon(1e-9));
}

TEST_CASE("a program of one's own runs its steps and loads its links") {
  Bench b(nvswitch_node(4, {100e9}, {1e-6}));
  ProgramBuilder builder("mine", CollectiveOp::broadcast, 3, 1);
  builder.add({.from = 0, .to = 1});
  builder.add({.from = 1, .to = 2});
  NetOp op{CollectiveOp::broadcast, "auto", {0, 1, 2}};
  op.program = std::move(builder).finish();
  const auto r = row(b, op, 100_MB);
  CHECK(r.algorithm == "mine");
  CHECK(r.time.value == Approx(2 * (1e-3 + 1e-6)).epsilon(1e-12));
  double sum = 0;
  for (const double bytes : r.channel_bytes) { sum += bytes; }
  CHECK(sum == Approx(2 * 2 * 100e6).epsilon(1e-12));  // two messages, out of and into a device
}
