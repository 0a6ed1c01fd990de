#include "strategies/message_copies.hpp"

#include <doctest/doctest.h>

#include "tests/sim/sample_scenarios.hpp"

using namespace tsim;
using namespace tsim::strategies;
using namespace tsim::testing;

namespace {

constexpr Bytes kRows{1'000'000};

std::vector<Piece> exchange() {
  Piece work;
  work.kind = PieceKind::compute;
  const Communication rows{
      cost::CollectiveOp::all_to_all, {GroupAxis::plane, 16, 1}, Stream::ep, kRows};
  return {work, comm_piece(PieceKind::comm, Phase::forward, rows)};
}

Strategy over_nodes(Dispatch dispatch, int nodes) {
  Strategy s;
  s.experts.ranks = 16;
  s.experts.nodes = nodes;
  s.experts.dispatch = dispatch;
  return s;
}

}  // namespace

TEST_CASE("two copies of all rows come before an exchange of Tutel's between nodes") {
  const cost::Device device = ideal_a100();
  const auto pieces = with_message_copies(exchange(), over_nodes(Dispatch::two_level, 2), device);
  REQUIRE(pieces.size() == 3);
  CHECK(pieces[1].kind == PieceKind::compute);
  CHECK(pieces[1].launches == 2);
  const double bandwidth = device.elementwise_bandwidth * device.memory_bandwidth.value;
  CHECK(pieces[1].on_device.value ==
        doctest::Approx(2 * (2 * to_double(kRows) / bandwidth + device.launch.value)));
  CHECK(pieces[2].kind == PieceKind::comm);
}

TEST_CASE("inside one node, and with other ways, messages leave as they are") {
  const cost::Device device = ideal_a100();
  for (const Strategy& s :
       {over_nodes(Dispatch::two_level, 1), over_nodes(Dispatch::hierarchical, 2)}) {
    CHECK(with_message_copies(exchange(), s, device).size() == 2);
  }
}
