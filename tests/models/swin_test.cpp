#include <doctest/doctest.h>

#include "models/registry.hpp"

using namespace tsim;
using namespace tsim::models;

TEST_CASE("Swin Transformers have torchvision's parameters") {
  // Parameter counts on the pages of torchvision.models.swin_t, swin_s and swin_b.
  CHECK(parameters(model_named("swin-t").value()) == 28'288'354);
  CHECK(parameters(model_named("swin-s").value()) == 49'606'258);
  CHECK(parameters(model_named("swin-b").value()) == 87'768'224);
}

TEST_CASE("Swin-B's forward takes the published operations") {
  // 15.4 billion multiply-adds for 224 x 224 pixels [arXiv:2103.14030, table 1].
  const Model model = build_model(model_named("swin-b").value(), {});
  CHECK(forward_model_flops(model).value / 2 == doctest::Approx(15.4e9).epsilon(0.01));
}

TEST_CASE("SwinV2-MoE-B's experts add up to the published parameters") {
  // 955.3 million with 32 experts, of which a token meets 109.3 million [arXiv:2206.03382, sec.
  // 5.3: as many as the dense model has].
  const ModelConfig moe = model_named("swin-moe-b").value();
  CHECK(static_cast<double>(parameters(moe)) == doctest::Approx(955.3e6).epsilon(0.001));
  CHECK(static_cast<double>(active_parameters(moe)) == doctest::Approx(109.3e6).epsilon(0.005));
}

TEST_CASE("every second layer of the last two stages has experts") {
  const std::vector<std::int64_t> experts = layer_experts(model_named("swin-moe-b").value());
  REQUIRE(experts.size() == 24);
  for (std::size_t i = 0; i < experts.size(); ++i) {
    CAPTURE(i);
    CHECK(experts[i] == (i >= 5 && i % 2 == 1 ? 32 : 0));
  }
}

TEST_CASE("each stage has a quarter of the tokens and twice the width of the one before") {
  const Model model = build_model(model_named("swin-b").value(), {.micro_batch = 3});
  std::int64_t tokens = 56 * 56;
  std::int64_t width = 128;
  for (const Block& block : model.blocks) {
    if (block.kind != BlockKind::layer) { continue; }
    const Shape& out = block.graph.tensors[static_cast<std::size_t>(block.graph.output)].shape;
    const Shape& in = block.graph.tensors[static_cast<std::size_t>(block.graph.input)].shape;
    const bool merges = elements(in) != elements(out);
    if (merges) {
      tokens /= 4;
      width *= 2;
    }
    CHECK(out == Shape{{Axis::batch, 3}, {Axis::sequence, tokens}, {Axis::hidden, width}});
  }
  CHECK(tokens == 7 * 7);
  CHECK(width == 1024);
}

TEST_CASE("windows have to divide each stage's side") {
  ModelConfig config = model_named("swin-t").value();
  CHECK(problems(config).empty());
  config.window = 6;
  const std::vector<ConfigProblem> found = problems(config);
  REQUIRE(found.size() == 1);
  CHECK(found.front().key == "window");
}

TEST_CASE("layers are the sum of all stages") {
  ModelConfig config = model_named("swin-t").value();
  config.layers = 13;
  REQUIRE(problems(config).size() == 1);
  CHECK(problems(config).front().key == "layers");
}
