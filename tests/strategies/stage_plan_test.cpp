#include "strategies/stage_plan.hpp"

#include <doctest/doctest.h>

#include <numeric>

#include "strategies/schedule.hpp"
#include "tests/sim/sample_scenarios.hpp"

using namespace tsim;
using namespace tsim::strategies;
using namespace tsim::testing;

namespace {

models::Model built(std::string_view name, std::int64_t sequence = 0) {
  return build_model(models::model_named(name).value(), {.micro_batch = 2, .sequence = sequence});
}

std::vector<StagePlan> plans(const models::Model& model, Strategy s) {
  return plan_stages(model, s, ideal_a100());
}

Strategy stages(int pipeline, LayerSplit split) {
  Strategy s;
  s.pipeline = pipeline;
  s.split = split;
  return s;
}

double compute_seconds(const StagePlan& stage) {
  double sum = 0;
  for (const ChunkPlan& c : stage.chunks) {
    sum += compute_time(c.forward).value + compute_time(c.backward).value;
  }
  return sum;
}

}  // namespace

TEST_CASE("an even split gives every part the same number of layers, chunk by chunk") {
  const models::Model model = built("gpt2");
  Strategy s = stages(3, LayerSplit::even);
  s.chunks = 2;
  const auto dealt = plans(model, s);
  for (std::size_t stage = 0; stage < 3; ++stage) {
    REQUIRE(dealt[stage].chunks.size() == 2);
    CHECK(dealt[stage].chunks[0].first_layer == static_cast<int>(2 * stage));
    CHECK(dealt[stage].chunks[1].first_layer == static_cast<int>(6 + 2 * stage));
  }
  CHECK(dealt[0].chunks[0].embedding);
  CHECK(dealt[2].chunks[1].head);
}

TEST_CASE("embedding and head take a layer's place: the ends have one less, or none") {
  const models::Model model = built("gpt2");  // 12 layers
  const auto layers_of = [](const std::vector<StagePlan>& dealt) {
    std::vector<int> layers;
    for (std::size_t chunk = 0; chunk < dealt[0].chunks.size(); ++chunk) {
      for (const StagePlan& stage : dealt) { layers.push_back(stage.chunks[chunk].layers); }
    }
    return layers;
  };
  CHECK(layers_of(plans(model, stages(2, LayerSplit::even_with_ends))) == std::vector<int>{6, 6});
  Strategy seven = stages(7, LayerSplit::even_with_ends);
  CHECK(layers_of(plans(model, seven)) == std::vector<int>{1, 2, 2, 2, 2, 2, 1});
  Strategy each = stages(7, LayerSplit::even_with_ends);
  each.chunks = 2;
  const auto dealt = plans(model, each);
  CHECK(layers_of(dealt) == std::vector<int>{0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0});
  CHECK(dealt[0].chunks[0].embedding);
  CHECK(dealt[6].chunks[1].head);
  std::int64_t sum = 0;
  for (const StagePlan& stage : dealt) { sum += stage.elements; }
  // The tied word table, 50257 x 768, is held at both ends.
  CHECK(sum == models::parameters(model.config) + 50257 * 768);
}

TEST_CASE("a balanced split is never slower at its slowest stage than any other split") {
  // Exhaustively over all cuts of 12 layers in 3 parts.
  const models::Model model = built("gpt2");
  const auto slowest = [](const std::vector<StagePlan>& dealt) {
    double worst = 0;
    for (const StagePlan& stage : dealt) { worst = std::max(worst, compute_seconds(stage)); }
    return worst;
  };
  const double balanced = slowest(plans(model, stages(3, LayerSplit::balanced)));
  for (int first = 1; first <= 10; ++first) {
    for (int second = 1; first + second <= 11; ++second) {
      Strategy s = stages(3, LayerSplit::list);
      s.layers_per_stage = {first, second, 12 - first - second};
      CHECK(balanced <= slowest(plans(model, s)) * (1 + 1e-9));
    }
  }
}

TEST_CASE("a balanced split of 30 layers over 4 stages loses none") {
  models::ModelConfig config = models::model_named("gpt2").value();
  config.layers = 30;
  const models::Model model = build_model(config, {});
  const auto dealt = deal_layers(model, stages(4, LayerSplit::balanced), ideal_a100());
  CHECK(std::accumulate(dealt.begin(), dealt.end(), 0) == 30);
}

TEST_CASE("a tied embedding is held once on one stage and copied to the last of several") {
  const models::Model model = built("gpt2");
  const std::int64_t words = 50257 * 768;
  const auto one = plans(model, stages(1, LayerSplit::even));
  CHECK(one[0].elements == models::parameters(model.config));
  CHECK_FALSE(one[0].shares_embedding);
  const auto four = plans(model, stages(4, LayerSplit::even));
  CHECK(four[0].shares_embedding);
  CHECK_FALSE(four[1].shares_embedding);
  CHECK(four[3].shares_embedding);
  CHECK(four[3].embedding_elements == words);
}

TEST_CASE("an untied head is the last stage's own") {
  const auto dealt = plans(built("llama2-7b", 512), stages(2, LayerSplit::even));
  CHECK_FALSE(dealt[0].shares_embedding);
  std::int64_t sum = dealt[0].elements + dealt[1].elements;
  CHECK(sum == 6'738'415'616);
}

TEST_CASE("gradients in the buckets of the last backward are the stage's parameters") {
  Strategy s = stages(2, LayerSplit::even);
  s.data = 2;
  for (const StagePlan& stage : plans(built("gpt2"), s)) {
    std::int64_t sent = 0;
    for (const ChunkPlan& chunk : stage.chunks) {
      for (const Step& step : chunk.last_backward.steps) { sent += step.bucket; }
    }
    CHECK(sent == stage.elements);
  }
}

TEST_CASE("cutting the last backward at buckets changes its work in no way") {
  Strategy s = stages(1, LayerSplit::even);
  s.data = 2;
  const ChunkPlan chunk = plans(built("bert-base", 128), s)[0].chunks[0];
  CHECK(chunk.last_backward.steps.size() > chunk.backward.steps.size());
  CHECK(compute_time(chunk.last_backward).value ==
        doctest::Approx(compute_time(chunk.backward).value).epsilon(1e-12));
}

TEST_CASE("stages of decoder layers receive the encoder's output besides") {
  const auto dealt = plans(built("transformer-big", 128), stages(4, LayerSplit::even));
  const Bytes activation{2 * 128 * 1024 * 2};
  CHECK(dealt[0].chunks[0].output == activation);      // inside the encoder
  CHECK(dealt[2].chunks[0].output == 2 * activation);  // inside the decoder
}

TEST_CASE("recomputation keeps less and runs more, the more the fuller") {
  const models::Model model = built("gpt2", 1024);
  Bytes kept{1LL << 60};
  double work = 0;
  for (const Recompute r : {Recompute::none, Recompute::selective, Recompute::full}) {
    Strategy s = stages(1, LayerSplit::even);
    s.recompute = r;
    const auto dealt = plans(model, s);
    CHECK(dealt[0].chunks[0].activations < kept);
    CHECK(compute_seconds(dealt[0]) > work);
    kept = dealt[0].chunks[0].activations;
    work = compute_seconds(dealt[0]);
  }
}

TEST_CASE("a backward in two parts does the same work as in one") {
  for (const Recompute r : {Recompute::none, Recompute::selective, Recompute::full}) {
    for (const int tensor : {1, 4}) {
      Strategy s = stages(2, LayerSplit::even);
      s.recompute = r;
      s.tensor = tensor;
      for (const StagePlan& stage : plans(built("gpt2"), s)) {
        const ChunkPlan& chunk = stage.chunks[0];
        const double parts =
            compute_time(chunk.input_grad).value + compute_time(chunk.weight_grad).value;
        CHECK(parts == doctest::Approx(compute_time(chunk.backward).value).epsilon(1e-12));
        const auto flops = [](const Program& program) {
          double sum = 0;
          for (const Step& step : program.steps) { sum += step.model_flops.value; }
          return sum;
        };
        CHECK(flops(chunk.input_grad) + flops(chunk.weight_grad) ==
              doctest::Approx(flops(chunk.backward)).epsilon(1e-12));
      }
    }
  }
}

TEST_CASE("weight gradients need no message and no collective") {
  Strategy s = stages(2, LayerSplit::even);
  s.tensor = 4;
  for (const StagePlan& stage : plans(built("gpt2"), s)) {
    const Program& weights = stage.chunks[0].weight_grad;
    CHECK(weights.steps.size() == 1);
    CHECK_FALSE(weights.steps.front().is_comm);
  }
}

TEST_CASE("gradients in the buckets of the last weight gradients are the stage's parameters") {
  Strategy s = stages(2, LayerSplit::even);
  s.data = 2;
  s.schedule = "zb_h1";
  for (const StagePlan& stage : plans(built("gpt2"), s)) {
    std::int64_t sent = 0;
    for (const Step& step : stage.chunks[0].last_weight_grad.steps) { sent += step.bucket; }
    CHECK(sent == stage.elements);
  }
}

TEST_CASE("weight gradients of a layer wait with 32 s b h bytes, less than its activations") {
  // Inputs and output gradients of the four products, 16 bit: 2 + 6, 2 + 2, 2 + 8 and 8 + 2 times
  // s b h.   [arXiv:2401.10241, table 1]
  const models::Model model = built("gpt2", 1024);
  Strategy s = stages(12, LayerSplit::even);
  const ChunkPlan middle = plans(model, s)[5].chunks[0];
  const std::int64_t sbh = 1024 * 2 * 768;
  CHECK(middle.layers == 1);
  CHECK(middle.weight_activations == Bytes{32 * sbh});
  CHECK(middle.activations > middle.weight_activations);
}

TEST_CASE("a wave puts embedding and head on the first stage, with one word embedding") {
  Strategy s = stages(3, LayerSplit::even);
  s.schedule = "zb_v";
  s.chunks = 2;
  const auto dealt = plans(built("gpt2"), s);
  CHECK(dealt[0].chunks[0].first_layer == 0);
  CHECK(dealt[0].chunks[1].first_layer == 10);
  CHECK(dealt[2].chunks[0].first_layer == 4);
  CHECK(dealt[2].chunks[1].first_layer == 6);
  CHECK(dealt[0].chunks[0].embedding);
  CHECK(dealt[0].chunks[1].head);
  CHECK_FALSE(dealt[0].shares_embedding);
  std::int64_t sum = 0;
  for (const StagePlan& stage : dealt) { sum += stage.elements; }
  CHECK(sum == models::parameters(built("gpt2").config));
}

TEST_CASE("two directions hold every parameter twice, the tied word embedding once a rank") {
  const models::Model model = built("gpt2");
  Strategy s = stages(4, LayerSplit::even);
  s.schedule = "chimera";
  s.chunks = 2;
  const auto dealt = plans(model, s);
  std::int64_t sum = 0;
  for (const StagePlan& stage : dealt) {
    sum += stage.elements;
    CHECK_FALSE(stage.shares_embedding);
    CHECK(stage.chunks[0].layers + stage.chunks[1].layers == 6);
  }
  CHECK(sum == 2 * models::parameters(model.config));
  CHECK(dealt[0].chunks[1].first_layer == 9);
  CHECK(dealt[3].chunks[1].first_layer == 0);
  CHECK(dealt[3].chunks[1].input == Bytes{});
  CHECK(dealt[3].chunks[0].input == dealt[2].chunks[0].output);
}

TEST_CASE("uneven cuts follow the parts of the model, wherever a schedule puts them") {
  const models::Model model = built("gpt2");
  for (const char* schedule : {"interleaved", "zb_v", "hanayo"}) {
    Strategy s = stages(2, LayerSplit::list);
    s.schedule = schedule;
    s.chunks = 2;
    s.layers_per_stage = {1, 2, 4, 5};
    const PipelineShape shape = shape_of(s, 1);
    const auto dealt = plans(model, s);
    for (int stage = 0; stage < 2; ++stage) {
      for (int chunk = 0; chunk < 2; ++chunk) {
        const int part = part_of(shape, {stage, chunk});
        CHECK(
            dealt[static_cast<std::size_t>(stage)].chunks[static_cast<std::size_t>(chunk)].layers ==
            s.layers_per_stage[static_cast<std::size_t>(part)]);
      }
    }
  }
}

TEST_CASE("an encoder-decoder may be cut between its halves") {
  // transformer-big: 6 + 6 layers.
  const models::Model model = built("transformer-big", 128);
  Strategy s = stages(4, LayerSplit::even);
  s.encoder_stages = 1;
  CHECK(deal_layers(model, s, ideal_a100()) == std::vector<int>{6, 2, 2, 2});
  s = stages(5, LayerSplit::balanced);
  s.encoder_stages = 2;
  const std::vector<int> dealt = deal_layers(model, s, ideal_a100());
  CHECK(dealt[0] + dealt[1] == 6);
  CHECK(dealt[2] + dealt[3] + dealt[4] == 6);
}
