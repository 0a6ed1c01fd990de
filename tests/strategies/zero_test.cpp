#include "strategies/zero.hpp"

#include <doctest/doctest.h>

#include "strategies/memory.hpp"
#include "strategies/strategy.hpp"

using namespace tsim;
using namespace tsim::literals;
using namespace tsim::strategies;

namespace {

Strategy sharded(int stage, int replicas) {
  Strategy s;
  s.data = replicas;
  s.zero.stage = stage;
  return s;
}

double gigabytes(const StateBytes& b) {
  return to_double(b.parameters + b.gradients + b.optimizer) / 1e9;
}

/// Bytes that one rank sends for each element, ring algorithms over groups of n: 2(n-1)/n and
/// (n-1)/n of the buffer.
double sent(const GradientSend& send) {
  const double n = send.comm.group.size;
  const double rounds = send.comm.op == cost::CollectiveOp::all_reduce ? 2 : 1;
  return rounds * (n - 1) / n * send.bytes;
}

}  // namespace

TEST_CASE("7.5 billion parameters over 64 replicas: 120, 31.4, 16.6 and 1.9 GB") {
  // [arXiv:1910.02054, fig. 1]: Psi = 7.5 B, N = 64, K = 12.
  constexpr std::int64_t kElements = 7'500'000'000;
  CHECK(gigabytes(state_bytes(kElements, sharded(0, 64))) == doctest::Approx(120).epsilon(1e-3));
  CHECK(gigabytes(state_bytes(kElements, sharded(1, 64))) == doctest::Approx(31.4).epsilon(2e-3));
  CHECK(gigabytes(state_bytes(kElements, sharded(2, 64))) == doctest::Approx(16.6).epsilon(3e-3));
  CHECK(gigabytes(state_bytes(kElements, sharded(3, 64))) == doctest::Approx(1.9).epsilon(2e-2));
}

TEST_CASE("gradients that wait for the last micro-batch are held whole") {
  Strategy s = sharded(2, 4);
  s.gradient_sync = GradientSync::last;
  CHECK(state_bytes(100, s).gradients == 200_B);
  CHECK(state_bytes(100, sharded(2, 4)).gradients == 50_B);
}

TEST_CASE("a shard group divides states, and a secondary group holds a second copy") {
  Strategy s = sharded(3, 64);
  s.zero.shard_group = 8;
  CHECK(shard_count(s) == 8);
  CHECK(state_bytes(6400, s).parameters == 1600_B);
  s.zero.shard_group = 0;
  s.zero.secondary_group = 8;
  CHECK(state_bytes(6400, s).parameters == Bytes{2 * (100 + 800)});
  CHECK(state_bytes(6400, s, 640).parameters == Bytes{2 * (640 + 90 + 720)});
}

TEST_CASE(
    "sharding gradients sends no more than an all-reduce, sharding parameters half as much again") {
  // [arXiv:1910.02054, sec. 7]: 2 Psi, 2 Psi and 3 Psi; here of 2 bytes and N = 64.
  const double share = 63.0 / 64;
  const auto sum = [](const std::vector<GradientSend>& sends) {
    double bytes = 0;
    for (const GradientSend& s : sends) { bytes += sent(s); }
    return bytes;
  };
  Strategy s = sharded(0, 64);
  s.gradient_sync = GradientSync::every;
  CHECK(sum(gradient_sends(s, true)) == doctest::Approx(4 * share));
  s = sharded(2, 64);
  CHECK(sum(gradient_sends(s, true)) == doctest::Approx(2 * share));
  s = sharded(3, 64);
  CHECK(sum(gradient_sends(s, true)) + sent(parameter_gather(s, false)) +
            sent(parameter_gather(s, true)) ==
        doctest::Approx(6 * share));
}

TEST_CASE("ZeRO++ sends a quarter between nodes") {
  // [arXiv:2306.10209, table 1]: from M + M + M to 0.5 M + 0 + 0.25 M, with nodes of 8. An
  // all-to-all's share that leaves the node follows its group: here one rank of each node.
  Strategy s = sharded(3, 64);
  s.zero.secondary_group = 8;
  s.zero.weight_bits = 8;
  s.zero.gradient_bits = 4;
  const GradientSend forward = parameter_gather(s, false);
  CHECK(forward.comm.group == RankGroup{GroupAxis::replica, 64, 1});
  CHECK(forward.bytes == 1.0);
  const GradientSend backward = parameter_gather(s, true);
  CHECK(backward.comm.group == RankGroup{GroupAxis::replica, 8, 1});
  const auto sends = gradient_sends(s, true);
  REQUIRE(sends.size() == 2);
  CHECK(sends[0].comm.group == RankGroup{GroupAxis::replica, 8, 1});
  CHECK(sends[1].comm.group == RankGroup{GroupAxis::replica, 8, 8});
  // All 8 ranks of a node together: 8 x 1/8 of 4 bits for each element, a quarter of 16.
  CHECK(8 * sends[1].bytes == doctest::Approx(0.25 * 2));
}

TEST_CASE("hybrid sharding adds up over the groups what each has reduced") {
  Strategy s = sharded(3, 64);
  s.zero.shard_group = 8;
  const auto sends = gradient_sends(s, true);
  REQUIRE(sends.size() == 2);
  CHECK(sends[0].comm.op == cost::CollectiveOp::reduce_scatter);
  CHECK(sends[1].comm.op == cost::CollectiveOp::all_reduce);
  CHECK(sends[1].comm.group == RankGroup{GroupAxis::replica, 8, 8});
  CHECK(sends[1].bytes == doctest::Approx(2.0 / 8));
  CHECK(gradient_sends(s, false).size() == 1);
}
