#include "sim/net/run_synthesis.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "cost/programs/lay_out.hpp"
#include "cost/tunings.hpp"
#include "sim/run_program.hpp"
#include "tests/cost/synthesis/wires.hpp"

using namespace tsim;
using namespace tsim::literals;
using namespace tsim::cost;
using namespace tsim::cost::testing;
using namespace tsim::sim;
using doctest::Approx;
using enum CollectiveOp;

namespace {

SynthesisRun made(Bench& b, CollectiveOp op, std::vector<int> devices, Bytes payload,
                  int pieces = 0) {
  return run_synthesis({op, std::move(devices), payload, pieces}, b.router);
}

/// Time of one of the library's algorithms, step by step; infinite where it has no program.
double library(Bench& b, CollectiveOp op, std::string_view name, const std::vector<int>& devices,
               Bytes payload) {
  const auto program = program_on(op, name, devices, payload, b.router);
  if (!program) { return std::numeric_limits<double>::infinity(); }
  const ProgramRun run{&*program, devices, payload, b.plan(op, name, devices, payload).costs};
  return run_programs({&run, 1}, b.router).last.value;
}

/// The ring of an operation, or what comes closest.
double ring(Bench& b, CollectiveOp op, const std::vector<int>& devices, Bytes payload) {
  return library(b, op, collective_algorithms(op)[0], devices, payload);
}

/// What must hold of any synthesis.
void check_sound(Bench& b, CollectiveOp op, const std::vector<int>& devices, Bytes payload) {
  CAPTURE(name_of(op));
  CAPTURE(b.cluster.name);
  const SynthesisRun run = made(b, op, devices, payload, 2);
  const Synthesis& s = run.synthesis;
  CHECK(fault(s.program).value_or("none") == "none");
  CHECK(s.time.value >= s.bound.time.value * (1 - 1e-9));
  CHECK(s.time.value <= ring(b, op, devices, payload) * (1 + 1e-9));
}

constexpr std::array kOps{all_gather, reduce_scatter, all_reduce, broadcast,
                          reduce,     scatter,        gather,     all_to_all};

}  // namespace

TEST_CASE("synthesised programs are right, above the bound and not slower than the ring") {
  const LinkSpec lane{{25e9}, {1e-6}}, wire{{12.5e9}, {2e-6}};
  std::vector<Cluster> clusters{cluster_of(nvswitch_design(5, {{{300e9}, {1.5e-6}}})),
                                cluster_of(all_to_all_design(4, lane)),
                                cluster_of(two_socket_cards(6)),
                                cluster_of(with_bridges(two_socket_cards(6), 2, lane)),
                                cluster_of(with_linked_groups(two_socket_cards(8), 4, lane)),
                                cluster_of(cube_mesh()),
                                cluster_of(with_nic_beside(two_socket_cards(4), 0, wire), 2)};
  for (Cluster& cluster : clusters) {
    const int n = device_count(cluster);
    Bench b(std::move(cluster));
    for (const CollectiveOp op : kOps) { check_sound(b, op, first_devices(n), 8_MiB); }
  }
}

TEST_CASE("so they are on wires laid at random") {
  for (unsigned seed = 1; seed <= 10; ++seed) {
    const int n = 3 + static_cast<int>(seed % 5);
    Bench b(random_cluster(seed, n));
    CAPTURE(seed);
    for (const CollectiveOp op : kOps) {
      check_sound(b, op, first_devices(n), seed % 2 == 0 ? 1_MiB : 2_KiB);
    }
  }
}

TEST_CASE("no regime of a library goes below the bound") {
  for (const Tuning& tuning : tunings()) {
    CAPTURE(tuning.name);
    ClusterSpec spec = nvswitch_cluster(2, 3, {.bandwidth = {25e9}, .latency = {5e-6}});
    spec.tuning = tuning;
    Bench b(spec);
    for (const CollectiveOp op : {all_reduce, all_gather, all_to_all, broadcast}) {
      for (const Bytes size : {1_KiB, 1_MiB, 64_MiB}) {
        const Synthesis s = made(b, op, first_devices(6), size, 2).synthesis;
        CHECK(s.time >= s.bound.time);
        for (const Candidate& c : s.candidates) { CHECK((!c.judged || c.time >= s.bound.time)); }
      }
    }
  }
}

// Devices 0, 1 and 5 of a cube mesh: 0-1 has one lane of 25 GB/s, 1-5 two, 0 and 5 have none and
// meet over PCIe at 12. A ring crosses there: 2/3 S at 12 GB/s. Over 1 as well, 2/3 S enter 0 at up
// to 37 GB/s.
TEST_CASE("in a cube mesh unlinked devices meet over their neighbours' links") {
  Bench b(cluster_of(cube_mesh()));
  const std::vector<int> devices{0, 1, 5};
  const double s = to_double(256_MiB);
  const double time = made(b, all_gather, devices, 256_MiB).synthesis.time.value;
  CHECK(ring(b, all_gather, devices, 256_MiB) == Approx(2.0 / 3 * s / 12e9).epsilon(0.01));
  CHECK(time >= 2.0 / 3 * s / 37e9);
  CHECK(time <= 2.0 / 3 * s / 37e9 * 1.1);
}

// Two hops lead from any device of a cube mesh to any other one, a ring takes seven.
TEST_CASE("a small all-gather in a cube mesh takes two hops") {
  Bench b(cluster_of(cube_mesh()));
  const double time = made(b, all_gather, first_devices(8), 4_KiB).synthesis.time.value;
  CHECK(time == Approx(2e-6).epsilon(0.05));
  CHECK(ring(b, all_gather, first_devices(8), 4_KiB) > 7e-6);
}

// Half of S has to enter each node; a ring of 16 sends 15/16 of it over either NIC.
TEST_CASE("with one NIC a node each byte crosses once") {
  Bench b(nvswitch_cluster(2, 8, {.bandwidth = {12.5e9}, .latency = {5e-6}}));
  const double once = to_double(256_MiB) / 12.5e9;
  CHECK(ring(b, all_gather, first_devices(16), 256_MiB) == Approx(once * 15 / 16).epsilon(0.01));
  const SynthesisRun run = made(b, all_gather, first_devices(16), 256_MiB, 8);
  CHECK(run.synthesis.time.value <= once / 2 * 1.05);
  CHECK(run.synthesis.bound.time.value == Approx(once / 2).epsilon(0.001));
}

// Four cards in a line of NVLinks, 25 GB/s, beside PCIe at 12: a ring's last hop goes back over
// PCIe. An end of the line can receive its 3/4 S at 37 GB/s.
TEST_CASE("several NVLink hops replace one over PCIe") {
  NodeDesign node = two_socket_cards(4);
  node.peers.lane = {{25e9}, {1e-6}};
  node.peers.pairs = {{0, 1, 1}, {1, 2, 1}, {2, 3, 1}};
  Bench b(cluster_of(node));
  const double s = to_double(256_MiB);
  const double time = made(b, all_gather, first_devices(4), 256_MiB).synthesis.time.value;
  CHECK(ring(b, all_gather, first_devices(4), 256_MiB) == Approx(0.75 * s / 12e9).epsilon(0.01));
  CHECK(time <= 0.75 * s / 25e9);
  CHECK(time >= 0.75 * s / 37e9);
}

// On one switch a ring is as good as anything once the payload is large.
TEST_CASE("where rings are best the time is theirs to a per cent") {
  Bench b(nvswitch_node(8, {300e9}, {3e-6}));
  for (const auto& [op, share] :
       {std::pair{all_gather, 7.0 / 8}, std::pair{all_reduce, 14.0 / 8}}) {
    const double time = made(b, op, first_devices(8), 1_GiB, 4).synthesis.time.value;
    CHECK(time == Approx(share * to_double(1_GiB) / 300e9).epsilon(0.01));
  }
}

// Allowed the ways of one ring in one direction only: 3/4 S over every way and one latency at
// least, at most three rounds of alpha + S / (n B).
TEST_CASE("only allowed ways are used") {
  Bench b(nvswitch_node(4, {300e9}, {3e-6}));
  SynthesisRequest request{all_gather, first_devices(4), 12_MB, 1};
  for (int r = 0; r < 4; ++r) { request.links.emplace_back(r, (r + 1) % 4); }
  const SynthesisRun run = run_synthesis(request, b.router);
  for (const Step& s : run.synthesis.program.steps) { CHECK(s.to == (s.from + 1) % 4); }
  CHECK(run.synthesis.time.value >= (3e-6 + 9e6 / 300e9) * (1 - 1e-9));
  CHECK(run.synthesis.time.value <= 3 * (3e-6 + 3e6 / 300e9) * (1 + 1e-9));
  request.links.pop_back();
  CHECK_THROWS_AS(run_synthesis(request, b.router), const Unreachable&);
}

TEST_CASE("the same request gives the same program") {
  Bench b(cluster_of(cube_mesh())), again(cluster_of(cube_mesh()));
  const SynthesisRun first = made(b, all_reduce, first_devices(8), 1_MiB, 4);
  const SynthesisRun second = made(again, all_reduce, first_devices(8), 1_MiB, 4);
  CHECK(first.synthesis.program.steps == second.synthesis.program.steps);
  CHECK(first.synthesis.program.after == second.synthesis.program.after);
  CHECK(first.synthesis.time == second.synthesis.time);
}

TEST_CASE("progress counts up to all programs, and bytes lie on the links") {
  Bench b(nvswitch_node(3, {300e9}, {3e-6}));
  int last = 0, all = 0;
  const SynthesisRun run =
      run_synthesis({all_gather, first_devices(3), 3_MB, 1}, b.router, [&](int done, int total) {
        CHECK(done == last + 1);
        last = done;
        all = total;
      });
  CHECK(last == all);
  CHECK(all == static_cast<int>(run.synthesis.candidates.size()));
  for (const double bytes : run.channel_bytes) { CHECK(bytes == Approx(2e6)); }
}
