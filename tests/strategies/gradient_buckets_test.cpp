// What must hold of stage plans for every model that is known by name.
#include <doctest/doctest.h>

#include "models/registry.hpp"
#include "strategies/stage_plan.hpp"
#include "tests/sim/sample_scenarios.hpp"

using namespace tsim;
using namespace tsim::strategies;

namespace {

models::Model small_batch_of(models::ModelConfig config) {
  config.vocab = (config.vocab + 7) / 8 * 8;  // divides by every degree used here
  return build_model(config, {.micro_batch = 1,
                              .sequence = config.image > 0 ? 0 : 64,
                              .decoder_sequence = config.decoder_layers > 0 ? 64 : 0});
}

std::int64_t in_buckets(const StagePlan& stage) {
  std::int64_t sum = 0;
  for (const ChunkPlan& chunk : stage.chunks) {
    for (const Step& step : chunk.last_backward.steps) { sum += step.bucket; }
  }
  return sum;
}

Strategy degrees(int tensor, int pipeline, int chunks) {
  Strategy s;
  s.tensor = tensor;
  s.pipeline = pipeline;
  s.data = 2;
  s.chunks = chunks;
  s.schedule = "interleaved";
  return s;
}

}  // namespace

TEST_CASE("gradient buckets hold every trained element of a stage once, whole tables included") {
  for (const std::string name : {"bert-base", "gpt2", "llama3-8b", "pangu-alpha-2.6b", "t5-small",
                                 "transformer-base", "vit-b16", "beit-base"}) {
    const models::Model model = small_batch_of(models::model_named(name).value());
    for (Strategy s : {degrees(1, 1, 1), degrees(1, 1, 2), degrees(2, 2, 1), degrees(2, 2, 3),
                       degrees(1, 4, 1)}) {
      for (const auto fusion :
           {models::Fusion::none, models::Fusion::framework, models::Fusion::full}) {
        s.fusion = fusion;
        CAPTURE(name);
        CAPTURE(s.tensor);
        CAPTURE(s.pipeline);
        CAPTURE(s.chunks);
        CAPTURE(static_cast<int>(fusion));
        for (const StagePlan& stage : plan_stages(model, s, testing::ideal_a100())) {
          CHECK(in_buckets(stage) == stage.elements);
        }
      }
    }
  }
}

TEST_CASE("one device trains the model's parameters, shared tables once") {
  for (const std::string name : {"bert-base", "gpt2", "llama3-8b", "t5-small", "vit-b16"}) {
    const models::ModelConfig config = models::model_named(name).value();
    const models::Model model = build_model(config, {.micro_batch = 1, .sequence = 0});
    const auto stages = plan_stages(model, {}, testing::ideal_a100());
    CAPTURE(name);
    CHECK(stages.front().elements == models::parameters(config));
  }
}

TEST_CASE("encoder and decoder share one table of words, also beside a head of its own") {
  models::ModelConfig config = models::model_named("t5-small").value();
  config.tied_embedding = false;
  const models::Model model = build_model(config, {.micro_batch = 1, .sequence = 64});
  CHECK(plan_stages(model, {}, testing::ideal_a100()).front().elements ==
        models::parameters(config));
}
