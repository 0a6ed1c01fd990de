// FLOPs of forward passes, counted by hand and by the papers' formulas.
#include <doctest/doctest.h>

#include <algorithm>

#include "models/registry.hpp"

using namespace tsim;
using namespace tsim::models;

namespace {

Flops contractions(const OpGraph& graph) {
  Flops sum;
  for (const Op& op : graph.ops) {
    if (op.cls == OpClass::contraction) { sum += model_flops(op); }
  }
  return sum;
}

constexpr const char* kGptModels[] = {
    "gpt2",           "gpt2-xl",          "gpt3-125m",        "gpt3-1.3b",
    "gpt3-13b",       "gpt3-175b",        "gpt-22b",          "megatron-1.7b",
    "megatron-3.6b",  "megatron-7.5b",    "megatron-18.4b",   "megatron-39.1b",
    "megatron-76.1b", "megatron-145.6b",  "megatron-310.1b",  "megatron-529.6b",
    "megatron-1t",    "pangu-alpha-2.6b", "pangu-alpha-200b", "gpt-neox-20b",
    "bloom-176b"};

}  // namespace

TEST_CASE("a GPT layer takes 24 b s h^2 + 4 b s^2 h, its head 2 b s h V") {
  // [arXiv:2104.04473, appendix A]
  for (const char* name : kGptModels) {
    CAPTURE(name);
    const ModelConfig c = *model_named(name);
    const double b = 3;
    const double s = 512;
    const double h = static_cast<double>(c.hidden);
    const Model model = build_model(c, {.micro_batch = 3, .sequence = 512});
    int layers = 0;
    for (const Block& block : model.blocks) {
      if (block.kind == BlockKind::layer) {
        layers += block.count;
        CHECK(contractions(block.graph).value == 24 * b * s * h * h + 4 * b * s * s * h);
      }
      if (block.kind == BlockKind::head) {
        CHECK(contractions(block.graph).value == 2 * b * s * h * static_cast<double>(c.vocab));
      }
    }
    CHECK(layers == c.layers);
  }
}

TEST_CASE("a step is 72 B s l h^2 (1 + s/6h + V/12lh), with recomputed layers 96 (.../16)") {
  // [arXiv:2104.04473, eq. 3 and the text before it]
  for (const char* name : kGptModels) {
    CAPTURE(name);
    const ModelConfig c = *model_named(name);
    const double s = static_cast<double>(c.sequence);
    const double h = static_cast<double>(c.hidden);
    const double l = c.layers;
    const double v = static_cast<double>(c.vocab);
    const Model model = build_model(c, {.micro_batch = 2});
    const double forward = forward_model_flops(model).value;
    double layers = 0;
    for (const Block& b : model.blocks) {
      if (b.kind == BlockKind::layer) { layers += b.count * contractions(b.graph).value; }
    }
    CHECK(3 * forward ==
          doctest::Approx(72 * 2 * s * l * h * h * (1 + s / (6 * h) + v / (12 * l * h)))
              .epsilon(1e-12));
    CHECK(3 * forward + layers ==
          doctest::Approx(96 * 2 * s * l * h * h * (1 + s / (6 * h) + v / (16 * l * h)))
              .epsilon(1e-12));
  }
}

TEST_CASE("flash attention leaves model FLOPs alone and skips tiles only under a causal mask") {
  for (const char* name : {"gpt2", "bert-base", "vit-b16", "llama3-8b"}) {
    CAPTURE(name);
    const ModelConfig c = *model_named(name);
    const Model model = build_model(c, {.flash_attention = true});
    CHECK(forward_model_flops(model) == forward_model_flops(build_model(c, {})));
    for (const Block& block : model.blocks) {
      for (const Op& op : block.graph.ops) {
        const bool skips = op.kind == OpKind::flash_attention && c.causal;
        const double s = static_cast<double>(c.sequence);
        CHECK(op.executed == doctest::Approx(skips ? (s + 1) / (2 * s) : 1.0));
      }
    }
  }
}

TEST_CASE("grouped queries make the projection narrower, not the attention") {
  // Llama 3 8B per token: qkv 2 h (32 + 2*8) 128, out 2 h^2, gate, up and down 6 h f; scores and
  // weighted sum 4 s h.
  const ModelConfig c = *model_named("llama3-8b");
  const double h = 4096;
  const double per_token = 2 * h * 48 * 128 + 2 * h * h + 6 * h * 14336 + 4 * 8192 * h;
  const double whole = 8192 * (32 * per_token + 2 * h * 128256);
  CHECK(forward_model_flops(build_model(c, {})).value == doctest::Approx(whole).epsilon(1e-12));
}

TEST_CASE("ViT-B/16 takes the 17.5 GMACs that its layers, patches and classes add up to") {
  const double s = 197;
  const double h = 768;
  const double layers = 12 * (24 * s * h * h + 4 * s * s * h);
  const double whole = layers + 2 * 196 * 768 * h + 2 * h * 1000;
  const Model model = build_model(*model_named("vit-b16"), {});
  CHECK(forward_model_flops(model).value == doctest::Approx(whole).epsilon(1e-12));
  // torchvision states 17.56 GFLOPS, which it counts as multiply-adds, for vit_b_16.
  CHECK(whole / 2 == doctest::Approx(17.56e9).epsilon(0.01));
  CHECK(tokens_per_sample(model) == 197);
}

TEST_CASE("BERT's forward includes the vocabulary and the pooler") {
  const double s = 512;
  const double h = 768;
  const double whole = 12 * (24 * s * h * h + 4 * s * s * h) + 2 * s * h * 30522 + 2 * h * h;
  CHECK(forward_model_flops(build_model(*model_named("bert-base"), {})).value ==
        doctest::Approx(whole).epsilon(1e-12));
}

TEST_CASE("a decoder layer with cross-attention reads source and target") {
  // Self 8 t h^2 + 4 t^2 h; cross 4 t h^2 for queries and output, 4 s h^2 for keys and values and
  // 4 t s h in its core; MLP 16 t h^2.
  const double h = 512;
  const double s = 100;
  const double t = 60;
  const Model model = build_model(*model_named("transformer-base"),
                                  {.micro_batch = 2, .sequence = 100, .decoder_sequence = 60});
  for (const Block& block : model.blocks) {
    if (block.kind != BlockKind::decoder_layer) { continue; }
    CHECK(contractions(block.graph).value ==
          2 * (28 * t * h * h + 4 * t * t * h + 4 * s * h * h + 4 * t * s * h));
  }
}

TEST_CASE("T5's heads can be wider together than its stream") {
  // t5-11b: 128 heads of 128 over a stream of 1024.
  const Model model = build_model(*model_named("t5-11b"), {});
  const double s = 512;
  const double inner = 128.0 * 128;
  CHECK(contractions(model.blocks.at(1).graph).value ==
        8 * s * 1024 * inner + 4 * s * s * inner + 4 * s * 1024 * 65536);
}
