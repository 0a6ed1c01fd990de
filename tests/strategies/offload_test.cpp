#include "strategies/offload.hpp"

#include <doctest/doctest.h>

#include "strategies/host_copies.hpp"
#include "strategies/memory.hpp"
#include "tests/sim/host_boxes.hpp"

using namespace tsim;
using namespace tsim::strategies;
using namespace tsim::testing;
using models::DType;

namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;

/// deepspeedai/DeepSpeed issue 4527: 6805 M parameters over four GPUs of a node, ZeRO 3, 18 bytes a
/// parameter; the largest layer of 131 M is gathered with its gradients, 4 bytes each.
constexpr std::int64_t kParameters = 6'805'000'000;
constexpr double kLargest = 4 * 131e6;

Strategy of_the_report(StatesAt optimizer, StatesAt parameters) {
  Strategy s;
  s.data = 4;
  s.zero.stage = 3;
  s.precision.gradient = DType::fp32;
  s.offload.optimizer = optimizer;
  s.offload.parameters = parameters;
  return s;
}

double sum(const StateBytes& states) {
  return to_double(states.parameters + states.gradients + states.optimizer);
}

double device_gib(const Strategy& s) {
  return (sum(states_on_device(state_bytes(kParameters, s), s, 0)) + kLargest) / kGiB;
}

}  // namespace

TEST_CASE("ZeRO-3 states of a device with nothing, the optimizer, and parameters too on the host") {
  CHECK(device_gib(of_the_report(StatesAt::device, StatesAt::device)) ==
        doctest::Approx(29.01).epsilon(0.0002));
  CHECK(device_gib(of_the_report(StatesAt::cpu, StatesAt::device)) ==
        doctest::Approx(3.66).epsilon(0.001));
  CHECK(device_gib(of_the_report(StatesAt::cpu, StatesAt::cpu)) ==
        doctest::Approx(0.488).epsilon(0.001));
}

TEST_CASE("the host takes what leaves the device: 18 bytes a parameter, 12 of them on drives") {
  Strategy s = of_the_report(StatesAt::cpu, StatesAt::cpu);
  // The report's 171.1 GiB set half as much aside for buffers.
  CHECK(4 * sum(states_on_host(state_bytes(kParameters, s), s, 0)) * 1.5 / kGiB ==
        doctest::Approx(171.1).epsilon(0.0005));
  s.offload.optimizer = StatesAt::nvme;
  const StateBytes all = state_bytes(kParameters, s);
  CHECK(sum(states_on_host(all, s, 0)) == 6.0 * kParameters / 4);
  CHECK(sum(states_on_drives(all, s, 0)) == 12.0 * kParameters / 4);
}

TEST_CASE("gradients that wait for the last micro-batch stay on the device") {
  Strategy s = of_the_report(StatesAt::cpu, StatesAt::device);
  s.gradient_sync = GradientSync::last;
  CHECK(states_on_device(state_bytes(1000, s), s, 0).gradients == 4000_B);
}

TEST_CASE("CPU-Adam's rate follows from the memory's bandwidth as in ZeRO-Offload's table 4") {
  // Two and four billion parameters in 0.51 and 1.03 s [arXiv:2101.06840, table 4] beside two
  // sockets of 128 GB/s. The constant comes from the row of ten billion.
  const cost::Cluster box = host_box({.devices = 1, .sockets = 2, .memory = 128_GBps});
  const double rate = host_rate({}, box.topology, 0);
  CHECK(2e9 / rate == doctest::Approx(0.51).epsilon(0.02));
  CHECK(4e9 / rate == doctest::Approx(1.03).epsilon(0.02));
}

TEST_CASE("a stated rate of the processors stands") {
  Strategy s;
  s.offload.cpu_rate = 3e9;
  CHECK(host_rate(s, host_box({}).topology, 0) == 3e9);
}

TEST_CASE("a device copies to the memory of its own socket, and stripes over all drives") {
  const cost::Cluster box = host_box({.devices = 2, .sockets = 2, .drives = 4});
  cost::Router router(box.topology);
  HostCopies copies(box.topology, router);
  const auto names = [&box](const Flow& flow) {
    std::string text;
    for (const cost::ChannelId c : flow.channels) {
      text += box.topology.channels[static_cast<std::size_t>(c)].name + ";";
    }
    return text;
  };
  const auto out = copies.copy(GroupAxis::host_memory, Stream::copy_out, 1, 1e9);
  REQUIRE(out.flows.size() == 1);
  CHECK(out.flows[0].bytes == 1e9);
  CHECK(names(out.flows[0]).find("dram1") != std::string::npos);
  CHECK(names(out.flows[0]).find("gpu1 ->") != std::string::npos);
  const auto in = copies.copy(GroupAxis::drive, Stream::copy_in, 0, 1e9);
  REQUIRE(in.flows.size() == 4);
  CHECK(in.flows[3].bytes == 0.25e9);
  CHECK(names(in.flows[3]).find("nvme3 ->") != std::string::npos);
  CHECK(names(in.flows[3]).find("-> node0/gpu0") != std::string::npos);
  const auto states = copies.copy(GroupAxis::host_drive, Stream::drive_out, 0, 1e9);
  CHECK(names(states.flows[0]).find("gpu") == std::string::npos);
}

TEST_CASE("a node without host memory cannot be copied to") {
  const cost::Cluster plain = dgx(2);
  cost::Router router(plain.topology);
  HostCopies copies(plain.topology, router);
  CHECK_THROWS_AS(copies.copy(GroupAxis::host_memory, Stream::copy_out, 0, 1.0), cost::Unreachable);
}

TEST_CASE("the first half of a pipeline keeps activations on the mirrored stage") {
  Strategy s;
  s.pipeline = 5;
  CHECK(keeper_of(s, 0) == -1);
  s.offload.activations = ActivationsAt::peer;
  CHECK(keeper_of(s, 0) == 4);
  CHECK(keeper_of(s, 1) == 3);
  CHECK(keeper_of(s, 2) == -1);
  CHECK(keeper_of(s, 4) == -1);
}
