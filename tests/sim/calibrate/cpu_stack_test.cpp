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
  return static_cast<double>(ops.gradients(true)[place]);
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

TEST_CASE("so are those of experts and of their router") {
  StackShape shape = kSmall;
  shape.sequence = 8;
  shape.experts = 8;
  shape.top_k = 2;
  const LayerPlaces l = places_of(shape).layers[0];
  for (const std::size_t place :
       {l.norm2 + 9, l.router + 3, l.router + 5 * 32 + 1, l.fc1 + 100, l.fc1 + 3 * 64 * 32 + 7,
        l.fc1_bias + 70, l.fc2 + 55, l.fc2 + 7 * 64 * 32 + 2, l.fc2_bias + 40}) {
    CAPTURE(place);
    const auto slope_over = [&](float step) {
      return (loss_with(shape, place, step) - loss_with(shape, place, -step)) / (2.0 * step);
    };
    const double slope = (4 * slope_over(1e-2F) - slope_over(2e-2F)) / 3;
    CHECK(std::abs(gradient_of(shape, place) - slope) <= 0.02 * std::abs(slope) + 0.01);
  }
}

TEST_CASE("every expert gets as many tokens, each copy a place of its own") {
  StackShape shape = kSmall;
  shape.sequence = 8;
  shape.experts = 8;
  shape.top_k = 2;
  std::vector<int> used(32);
  for (long token = 0; token < 16; ++token) {
    for (long choice = 0; choice < 2; ++choice) {
      const auto at = static_cast<std::size_t>(place_of(token, choice, shape));
      REQUIRE(at < used.size());
      ++used[at];
      CHECK(at / 4 == static_cast<std::size_t>(expert_of(token, choice, 8)));
    }
  }
  for (const int count : used) { CHECK(count == 1); }
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

TEST_CASE("ranks that a stack cannot be dealt to are told") {
  const auto problems = [](StackShape shape) {
    std::vector<std::string> bad;
    read_stack(stack_text(shape), bad);
    return bad.size();
  };
  StackShape shape = kSmall;
  shape.sequence = 8;
  CHECK(problems(shape) == 0);
  shape.pipeline = 3;  // of two layers
  CHECK(problems(shape) == 1);
  shape.pipeline = 1;
  shape.micro_batches = 2;
  CHECK(problems(shape) == 1);
  shape.micro_batches = 1;
  shape.top_k = 2;  // without experts
  CHECK(problems(shape) == 1);
  shape.experts = 8;
  CHECK(problems(shape) == 0);
  shape.expert_ranks = 2;  // of one replica
  CHECK(problems(shape) == 1);
  shape.data = 2;
  CHECK(problems(shape) == 0);
  shape.tensor = 2;
  CHECK(problems(shape) == 1);
}
