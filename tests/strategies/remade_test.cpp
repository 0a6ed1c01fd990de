#include "strategies/remade.hpp"

#include <doctest/doctest.h>

#include "models/registry.hpp"
#include "strategies/block_plan.hpp"
#include "tests/sim/sample_scenarios.hpp"

using namespace tsim;
using namespace tsim::strategies;
using namespace tsim::testing;

namespace {

// GPT-2 with 12 layers of 768 columns; two samples of 256 tokens in two bytes.
constexpr std::int64_t kTokens = 2 * 256;
constexpr std::int64_t kHidden = 768;

BlockPlan layer_with(const Strategy& s, models::Activation activation = models::Activation::gelu) {
  models::ModelConfig config = models::model_named("gpt2").value();
  config.activation = activation;
  const models::Model model = build_model(
      config, {.micro_batch = 2, .sequence = 256, .flash_attention = true, .dropout = false});
  return plan_block(model.blocks[1], tensor_split(model, s, -1), s, ideal_a100());
}

BlockPlan layer_again(std::vector<std::string> operators,
                      models::Activation activation = models::Activation::gelu) {
  Strategy s;
  s.recompute = Recompute::operators;
  s.recompute_operators = std::move(operators);
  return layer_with(s, activation);
}

Bytes saved_by(const std::vector<std::string>& operators) {
  return layer_with({}).activations - layer_again(operators).activations;
}

}  // namespace

TEST_CASE("what an operator that runs again makes is not kept") {
  // GELU's result, 4 x 768 columns.
  CHECK(saved_by({"mlp.activation"}) == Bytes{kTokens * 4 * kHidden * 2});
  CHECK(layer_again({"mlp.activation"}).again.size() == 1);
}

TEST_CASE("operators of a kind run again together") {
  // Two norms' results, and a mean and a deviation of four bytes for each of their rows.
  const Bytes results{2 * kTokens * kHidden * 2};
  const Bytes statistics{2 * 2 * kTokens * 4};
  CHECK(saved_by({"layer_norm"}) == results + statistics);
}

TEST_CASE("a product's bias goes with it, and its input stays") {
  CHECK(saved_by({"attention.qkv"}) == Bytes{kTokens * 3 * kHidden * 2});
}

TEST_CASE("operators that need one another run from what is kept before them") {
  const Bytes both = saved_by({"attention.norm", "attention.qkv"});
  CHECK(both ==
        Bytes{kTokens * 3 * kHidden * 2} + Bytes{kTokens * kHidden * 2} + Bytes{2 * kTokens * 4});
}

TEST_CASE("what an operator that runs again reads is kept where nothing makes it") {
  // ReLU keeps its result; without it its input has to be there, as large.
  const Bytes without = layer_with({}, models::Activation::relu).activations;
  CHECK(layer_again({"mlp.activation"}, models::Activation::relu).activations == without);
}

TEST_CASE("all operators of a layer are a whole layer") {
  Strategy full;
  full.recompute = Recompute::full;
  const BlockPlan whole = layer_with(full);
  const BlockPlan parts = layer_again({"norm", "attention", "attention_core", "mlp", "residual"});
  CHECK(parts.activations == whole.activations);
  CHECK(parts.recomputed == whole.recomputed);
}

TEST_CASE("what runs again takes its forward's time before the backward") {
  const BlockPlan plain = layer_with({});
  const BlockPlan again = layer_again({"layer_norm", "mlp.activation"});
  CHECK(again.backward.size() == plain.backward.size() + again.again.size());
  CHECK(again.again.size() == 3);
  for (const Piece& piece : again.again) { CHECK(piece.phase == Phase::recompute); }
}

TEST_CASE("an operator runs again from the narrower copy that it keeps of its input") {
  models::ModelConfig config = models::model_named("gpt2").value();
  config.activation = models::Activation::swiglu;
  models::BuildOptions options{
      .micro_batch = 2, .sequence = 256, .flash_attention = true, .dropout = false};
  Strategy s;
  const auto activations = [&] {
    const models::Model model = build_model(config, options);
    return plan_block(model.blocks[1], tensor_split(model, s, -1), s, ideal_a100()).activations;
  };
  const Bytes plain = activations();
  options.kept = {{.operators = "gated_activation", .format = models::DType::fp8}};
  s.recompute = Recompute::operators;
  s.recompute_operators = {"gated_activation"};
  // Gate and value columns in one byte in place of two, and the result's two bytes.
  const std::int64_t columns = kTokens * 4 * kHidden;
  CHECK(plain - activations() == Bytes{2 * columns + 2 * columns});
}

TEST_CASE("an operator whose result nobody keeps does not run again") {
  CHECK(layer_again({"mlp.fc2"}).again.empty());
}
