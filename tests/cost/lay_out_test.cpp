// The planner's algorithms step by step against the same algorithms with their steps added up.
#include "cost/programs/lay_out.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <memory>

#include "tests/cost/clusters.hpp"

using namespace tsim;
using namespace tsim::literals;
using namespace tsim::cost;
using namespace tsim::cost::testing;

namespace {

constexpr std::array kOps{
    CollectiveOp::all_reduce, CollectiveOp::reduce_scatter, CollectiveOp::all_gather,
    CollectiveOp::broadcast,  CollectiveOp::reduce,         CollectiveOp::scatter,
    CollectiveOp::gather,     CollectiveOp::all_to_all,     CollectiveOp::send_recv};

struct Site {
  const char* what;
  std::unique_ptr<Bench> owned;  // its router keeps its address
  std::vector<int> devices;
};

ClusterDesign cube_mesh() {
  const LinkSpec card{{12e9}, {1e-6}};
  PcieShape shape;
  shape.devices = 8;
  shape.sockets = 2;
  shape.devices_per_switch = 2;
  shape.card = shape.uplink = card;
  shape.socket_link = {{19e9}, {1e-6}};
  return {"mesh", {Device{}}, {{with_cube_mesh(pcie_design(shape), {{23e9}, {1e-6}}), 1}}};
}

std::vector<Site> sites() {
  const NetworkWiring two_nics{.nics_per_node = 2, .bandwidth = {25e9}, .latency = {5e-6}};
  const NetworkWiring own_nics{.nics_per_node = 4, .bandwidth = {25e9}, .latency = {5e-6}};
  std::vector<Site> all;
  all.push_back(
      {"one switch", std::make_unique<Bench>(nvswitch_node(8, {300e9}, {3e-6})), first_devices(8)});
  all.push_back(
      {"odd ranks", std::make_unique<Bench>(nvswitch_node(8, {300e9}, {3e-6})), {6, 0, 3, 1, 7}});
  all.push_back({"one rank", std::make_unique<Bench>(nvswitch_node(8, {300e9}, {3e-6})), {3}});
  all.push_back({"shared NICs", std::make_unique<Bench>(nvswitch_cluster(3, 4, two_nics)),
                 first_devices(12)});
  all.push_back(
      {"own NICs", std::make_unique<Bench>(nvswitch_cluster(4, 4, own_nics)), first_devices(16)});
  all.push_back({"uneven nodes", std::make_unique<Bench>(nvswitch_cluster(2, 4, own_nics)),
                 first_devices(7)});
  all.push_back({"cube mesh", std::make_unique<Bench>(cube_mesh()), first_devices(8)});
  return all;
}

/// Bytes by channel of the transfers of a plan, and of the steps of a program.
std::vector<double> loads(const CollectivePlan& plan, Router& router) {
  std::vector<double> bytes(router.topology().channels.size());
  for (const Transfer& t : plan.transfers) {
    for (const ChannelId c : router.path(t.from, t.to).channels) {
      bytes[static_cast<std::size_t>(c)] += t.bytes;
    }
  }
  return bytes;
}

std::vector<double> loads(const CollectiveProgram& program, const Site& site, double payload,
                          Router& router) {
  std::vector<double> bytes(router.topology().channels.size());
  for (const Step& s : program.steps) {
    const int from = site.devices[static_cast<std::size_t>(s.from)];
    const int to = site.devices[static_cast<std::size_t>(s.to)];
    for (const ChannelId c : router.path(from, to).channels) {
      bytes[static_cast<std::size_t>(c)] += s.count * payload / program.chunks;
    }
  }
  return bytes;
}

void check_steps_of(CollectiveOp op, std::string_view algorithm, Site& site) {
  CAPTURE(site.what);
  CAPTURE(name_of(op));
  CAPTURE(algorithm);
  const auto program = program_on(op, algorithm, site.devices, 24_MB, site.owned->router);
  if (!program) { return; }
  CHECK(program->ranks == static_cast<int>(site.devices.size()));
  if (op != CollectiveOp::send_recv) { CHECK(fault(*program).value_or("none") == "none"); }
  CollectivePlan plan;
  try {
    plan = site.owned->plan(op, algorithm, site.devices, 24_MB);
  } catch (const std::invalid_argument&) { return; }  // not on these devices
  const auto planned = loads(plan, site.owned->router);
  const auto stepped = loads(*program, site, 24e6, site.owned->router);
  for (std::size_t c = 0; c < planned.size(); ++c) {
    CAPTURE(site.owned->cluster.topology.channels[c].name);
    CHECK(std::abs(stepped[c] - planned[c]) <= 1e-9 * 24e6);
  }
}

}  // namespace

TEST_CASE("steps implement their collective and carry the planned bytes over every link") {
  for (Site& site : sites()) {
    for (const CollectiveOp op : kOps) {
      for (const std::string_view algorithm : collective_algorithms(op)) {
        check_steps_of(op, algorithm, site);
      }
    }
  }
}

TEST_CASE("what a library chooses from has steps on every kind of wiring, but for switches' sums") {
  for (Site& site : sites()) {
    for (const CollectiveOp op : kOps) {
      for (const std::string_view algorithm : automatic_algorithms(op)) {
        if (algorithm == "in_switch" || algorithm == "torus" || algorithm == "rails") { continue; }
        CAPTURE(site.what);
        CAPTURE(algorithm);
        CHECK(program_on(op, algorithm, site.devices, 24_MB, site.owned->router).has_value());
      }
    }
  }
}

TEST_CASE("reductions in switches have no steps from rank to rank") {
  ClusterSpec spec = nvswitch_node(8, {300e9}, {3e-6});
  spec.node.in_switch_reduction = true;
  Bench b(spec);
  CHECK_FALSE(program_on(CollectiveOp::all_reduce, "in_switch", first_devices(8), 1_MB, b.router));
}

TEST_CASE("a barrier of n ranks has a round of messages for every doubling of what is known") {
  Bench b(nvswitch_node(8, {300e9}, {3e-6}));
  const auto program =
      program_on(CollectiveOp::barrier, "dissemination", first_devices(6), 0_B, b.router);
  REQUIRE(program);
  CHECK(program->steps.size() == 3 * 6);
  CHECK(critical_path(*program, first_devices(6), 0_B, b.router).value ==
        doctest::Approx(3 * 3e-6).epsilon(1e-12));
}
