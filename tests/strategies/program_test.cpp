#include "strategies/program.hpp"

#include <doctest/doctest.h>

using namespace tsim;
using namespace tsim::literals;
using namespace tsim::strategies;

namespace {

Piece compute(double seconds, std::int64_t gradients = 0, Phase phase = Phase::backward) {
  Piece p;
  p.phase = phase;
  p.on_device = Seconds{seconds};
  p.launches = 1;
  p.model_flops = Flops{1};
  p.gradients = gradients;
  return p;
}

Piece of_kind(PieceKind kind) {
  Piece p;
  p.kind = kind;
  p.phase = Phase::backward;
  return p;
}

}  // namespace

TEST_CASE("pieces that nothing separates become one step") {
  const std::vector<Piece> pieces(5, compute(2));
  const Program p = make_program(pieces, {});
  REQUIRE(p.steps.size() == 1);
  CHECK(p.steps[0].duration.value == doctest::Approx(10));
  CHECK(p.steps[0].model_flops.value == doctest::Approx(5));
  CHECK(p.exits == std::vector<int>{0});
}

TEST_CASE("a program takes as long as its host launches when kernels are shorter") {
  const std::vector<Piece> pieces(5, compute(1e-6));
  const Program program = make_program(pieces, {10_us, 10_us});
  CHECK(program.steps[0].duration.value == doctest::Approx(5e-6));
  CHECK(program.steps[0].host.value == doctest::Approx(50e-6));
  CHECK(compute_time(program).value == doctest::Approx(50e-6));
}

TEST_CASE("kernels of a backward take the host's time for those, recomputation the forward's") {
  std::vector<Piece> pieces(3, compute(1e-6));
  pieces[0].phase = Phase::recompute;
  pieces[1].phase = Phase::backward;
  pieces[2].phase = Phase::backward;
  pieces[2].hooks = 4;
  const Program program = make_program(pieces, {10_us, 2_us});
  REQUIRE(program.steps.size() == 2);
  CHECK(program.steps[0].host.value == doctest::Approx(10e-6));
  CHECK(program.steps[1].host.value == doctest::Approx(2 * 2e-6 + 4 * 10e-6));
}

TEST_CASE("a host that blocks adds what it takes for kernels and communications") {
  const std::vector<Piece> pieces{compute(1e-6), compute(1e-6), of_kind(PieceKind::comm),
                                  compute(1e-6)};
  const HostTimes host{.forward = 10_us, .backward = 2_us, .collective = 5_us, .blocks = true};
  const Program program = make_program(pieces, host);
  REQUIRE(program.steps.size() == 3);
  CHECK(program.steps[0].duration.value == doctest::Approx(2e-6 + 2 * 2e-6 + 5e-6));
  CHECK(program.steps[0].host.value == 0);
  CHECK(program.steps[2].duration.value == doctest::Approx(1e-6 + 2e-6));
}

TEST_CASE("a communication holds up what follows") {
  const std::vector<Piece> pieces{compute(1), of_kind(PieceKind::comm), compute(1)};
  const Program p = make_program(pieces, {});
  REQUIRE(p.steps.size() == 3);
  CHECK(p.steps[1].is_comm);
  CHECK(p.steps[1].after == std::vector<int>{0});
  CHECK(p.steps[2].after == std::vector<int>{1});
}

TEST_CASE("an asynchronous communication runs beside compute until the join") {
  const std::vector<Piece> pieces{compute(1), of_kind(PieceKind::async_comm), compute(2),
                                  of_kind(PieceKind::join), compute(3)};
  const Program p = make_program(pieces, {});
  REQUIRE(p.steps.size() == 4);
  CHECK(p.steps[2].after == std::vector<int>{0});
  CHECK(p.steps[3].after == std::vector<int>{2, 1});
}

TEST_CASE("recomputation and backward are steps of their own") {
  const std::vector<Piece> pieces{compute(1, 0, Phase::recompute), compute(2)};
  const Program p = make_program(pieces, {});
  REQUIRE(p.steps.size() == 2);
  CHECK(p.steps[0].phase == Phase::recompute);
  CHECK(p.steps[1].phase == Phase::backward);
}

TEST_CASE("steps end where gradient buckets are full, and no gradient is lost") {
  // Buckets of 10, the first of 3: 4 | 4 + 4 + 4 | 4 + 4 left over.
  const std::vector<Piece> pieces(6, compute(1, 4));
  const Program p = make_program(pieces, {}, {.first = 3, .others = 10});
  REQUIRE(p.steps.size() == 3);
  CHECK(p.steps[0].bucket == 4);
  CHECK(p.steps[1].bucket == 12);
  CHECK(p.steps[2].bucket == 8);
  CHECK(compute_time(p).value == doctest::Approx(6));
}

TEST_CASE("gradients that are complete before a communication are sent after the phase") {
  const std::vector<Piece> pieces{compute(1, 4), of_kind(PieceKind::comm), compute(1, 0)};
  const Program p = make_program(pieces, {}, {.first = 100, .others = 100});
  std::int64_t sent = 0;
  for (const Step& step : p.steps) { sent += step.bucket; }
  CHECK(sent == 4);
}
