#include "strategies/memory.hpp"

#include <doctest/doctest.h>

#include "strategies/optimizers.hpp"

using namespace tsim;
using namespace tsim::strategies;
using models::DType;

namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;

Precision mixed(DType gradient) {
  return {.compute = DType::bf16, .gradient = gradient, .master_weights = true};
}

int bytes_per_element(const Precision& precision) {
  const StateSizes s = state_sizes(precision, Optimizer::adam);
  return s.parameter + s.gradient + s.optimizer;
}

/// Korthikanti et al., table 3 and fig. 1: sequence 2048, dropout on, scores kept.
ActivationShape gpt_22b() {
  return {
      .sequence = 2048, .micro_batch = 4, .hidden = 6144, .heads = 64, .layers = 48, .tensor = 8};
}
ActivationShape gpt_175b() {
  return {.sequence = 2048,
          .micro_batch = 1,
          .hidden = 12288,
          .heads = 96,
          .layers = 96,
          .tensor = 8,
          .pipeline = 8,
          .chunks = 3};
}

double gib(ActivationShape a, bool sequence_parallel, Recompute recompute) {
  a.sequence_parallel = sequence_parallel;
  a.recompute = recompute;
  return closed_form_activations(a) / kGiB;
}

}  // namespace

TEST_CASE("Adam keeps 16 bytes a parameter in mixed precision, 18 with fp32 gradients") {
  CHECK(bytes_per_element(mixed(DType::bf16)) == 16);
  CHECK(bytes_per_element(mixed(DType::fp32)) == 18);
  const Precision fp32{.compute = DType::fp32, .gradient = DType::fp32, .master_weights = false};
  CHECK(bytes_per_element(fp32) == 16);
  // Of the 16 in mixed precision, master and moments are 12.
  CHECK(state_sizes(mixed(DType::bf16), Optimizer::adam).optimizer == 12);
}

TEST_CASE("plain SGD keeps the master copy alone, momentum adds one moment") {
  CHECK(state_sizes(mixed(DType::bf16), Optimizer::sgd).optimizer == 4);
  CHECK(state_sizes(mixed(DType::bf16), Optimizer::sgd_momentum).optimizer == 8);
  CHECK(state_sizes(mixed(DType::bf16), Optimizer::lamb).optimizer == 12);
}

TEST_CASE("ZeRO saves nothing without replicas") {
  // 8e9 parameters over 8 tensor-parallel ranks, 16 bytes each: 16.0 GB, 14.90 GiB, at any stage.
  for (const int zero : {0, 1}) {
    Strategy s;
    s.tensor = 8;
    s.zero.stage = zero;
    s.precision = mixed(DType::bf16);
    const StateBytes b = state_bytes(1'000'000'000, s);
    CHECK((b.parameters + b.gradients + b.optimizer).value == 16'000'000'000);
  }
}

TEST_CASE("ZeRO stage 1 divides the optimizer states by the replicas and nothing else") {
  Strategy s;
  s.data = 4;
  s.zero.stage = 1;
  s.precision = mixed(DType::bf16);
  const StateBytes b = state_bytes(1'000'001, s);
  CHECK(b.parameters.value == 2'000'002);
  CHECK(b.gradients.value == 2'000'002);
  CHECK(b.optimizer.value == 250'001 * 12);  // rounded up
}

TEST_CASE("235e9 parameters at 18 bytes over 64 devices are 66.09 GB, 61.55 GiB") {
  const double bytes = 235e9 * bytes_per_element(mixed(DType::fp32)) / 64;
  CHECK(bytes / 1e9 == doctest::Approx(66.09).epsilon(1e-4));
  CHECK(bytes / kGiB == doctest::Approx(61.55).epsilon(1e-4));
}

TEST_CASE("activations of a 22B model follow the published table") {
  CHECK(gib(gpt_22b(), false, Recompute::none) == doctest::Approx(59.25));
  CHECK(gib(gpt_22b(), true, Recompute::none) == doctest::Approx(39.5625));
  CHECK(gib(gpt_22b(), true, Recompute::selective) == doctest::Approx(9.5625));
  CHECK(gib(gpt_22b(), false, Recompute::full) == doctest::Approx(4.5));
}

TEST_CASE("interleaving costs stage 0 of a 175B model 1 + (p-1)/(pv) times the activations") {
  CHECK(gib(gpt_175b(), false, Recompute::none) == doctest::Approx(66.84375));
  CHECK(gib(gpt_175b(), true, Recompute::none) == doctest::Approx(41.414).epsilon(1e-4));
  CHECK(gib(gpt_175b(), true, Recompute::selective) == doctest::Approx(12.3515625));
  CHECK(gib(gpt_175b(), false, Recompute::full) == doctest::Approx(5.8125));
  ActivationShape plain = gpt_175b();
  plain.chunks = 1;
  CHECK(gib(plain, false, Recompute::none) == doctest::Approx(51.75));
  CHECK(gib(plain, true, Recompute::selective) == doctest::Approx(9.5625));
}

TEST_CASE("clipping and unscaling pass over the gradients once more each") {
  Strategy strategy;
  strategy.precision = mixed(DType::bf16);
  const auto moved = [&] { return optimizer_traffic({.elements = 1}, strategy).value; };
  strategy.gradient_clipping = false;
  // 2 x 2 (read, cleared) + 2 x 12 + 2 = 30 bytes a parameter; the gradient written and read again
  // in fp32 and the master weight read for its copy: 8 + 4 more.
  CHECK(moved() == 42);
  // Read for the norm; read and written when clipped: 3 x 2 more.
  strategy.gradient_clipping = true;
  CHECK(moved() == 48);
  // fp32 gradients of fp16 training, unscaled too: 7 x 4 + 24 + 2, and 4 for the copy.
  strategy.precision = {.gradient = DType::fp32};
  strategy.loss_scaling = true;
  CHECK(moved() == 58);
}
