#include "sim/calibrate/cpu/cpu_stack.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>

using namespace tsim::calibrate;

namespace {

const StackShape kSmall{.layers = 2,
                        .hidden = 32,
                        .heads = 2,
                        .ffn = 64,
                        .vocab = 24,
                        .sequence = 6,
                        .batch = 2,
                        .dtype = "fp32"};

/// Loss of all tokens after one weight moved.
double loss_with(const StackShape& shape, std::size_t place, float moved_by) {
  CpuOps ops(shape, 1);
  Stack<CpuOps> stack(shape, ops);
  for (std::size_t i = 0; i < places_of(shape).size; ++i) { ops.weights()[i] *= 3; }
  ops.weights()[place] += moved_by;
  stack.forward();
  return ops.mean_loss() * static_cast<double>(shape.tokens());
}

double gradient_of(const StackShape& shape, std::size_t place) {
  CpuOps ops(shape, 2);
  Stack<CpuOps> stack(shape, ops);
  for (std::size_t i = 0; i < places_of(shape).size; ++i) { ops.weights()[i] *= 3; }
  stack.forward();
  stack.backward();
  return static_cast<double>(ops.gradients()[place]);
}

}  // namespace

TEST_CASE("the stack's gradients are the slopes of its loss") {
  for (const bool causal : {true, false}) {
    StackShape shape = kSmall;
    shape.causal = causal;
    const StackPlaces p = places_of(shape);
    const LayerPlaces& l = p.layers[0];
    constexpr std::size_t kQueries = 5;
    constexpr std::size_t kKeys = 32 * 32 + 7;
    constexpr std::size_t kValues = 2 * 32 * 32 + 9;
    for (const std::size_t place :
         {p.embedding + 70, p.positions + 40, l.norm1 + 3, l.norm1_bias + 4, l.qkv + kQueries,
          l.qkv + kKeys, l.qkv + kValues, l.qkv_bias + 66, l.out + 17, l.out_bias + 8, l.norm2 + 9,
          l.norm2_bias + 2, l.fc1 + 100, l.fc1_bias + 11, l.fc2 + 55, l.fc2_bias + 30,
          p.layers[1].fc1 + 5, p.norm + 6, p.norm_bias + 7}) {
      CAPTURE(causal);
      CAPTURE(place);
      const auto slope_over = [&](float step) {
        return (loss_with(shape, place, step) - loss_with(shape, place, -step)) / (2.0 * step);
      };
      // Richardson's extrapolation: the error of both goes with the square of the step.
      const double slope = (4 * slope_over(1e-2F) - slope_over(2e-2F)) / 3;
      const double gradient = gradient_of(shape, place);
      CHECK(std::abs(gradient - slope) <= 0.02 * std::abs(slope) + 0.01);
    }
  }
}

TEST_CASE("training lowers the loss from that of a guess, log of the vocabulary") {
  const StackTimes times = run_cpu_stack(kSmall, 0.2);
  CHECK(times.first_loss == doctest::Approx(std::log(24.0)).epsilon(0.05));
  CHECK(times.last_loss < times.first_loss);
}

TEST_CASE("the classes' times fill the step, and all but communication take some") {
  const StackTimes times = run_cpu_stack(kSmall, 0.2);
  double sum = 0;
  for (std::size_t i = 0; i < kStackClasses; ++i) {
    sum += times.classes[i];
    CHECK((times.classes[i] > 0) == (static_cast<StackClass>(i) != StackClass::communication));
  }
  CHECK(sum <= times.step);
  CHECK(sum > 0.5 * times.step);
}

TEST_CASE("a stack's text is read back, and each mistake in it is told") {
  std::vector<std::string> bad;
  CHECK(read_stack(stack_text(kSmall), bad) == kSmall);
  CHECK(bad.empty());
  read_stack("layers 2\nlayers 3\nhidden many\nheads\nwidth 8\ncausal maybe\n", bad);
  // Five bad lines, and ffn, vocab, sequence and batch are missing.
  CHECK(bad.size() == 9);
}
