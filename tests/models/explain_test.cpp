#include "models/explain.hpp"

#include <doctest/doctest.h>

#include "models/registry.hpp"

using namespace tsim;
using namespace tsim::models;

namespace {

constexpr Fusion kFusions[] = {Fusion::none, Fusion::framework, Fusion::full};

}  // namespace

TEST_CASE("rows sum to the model's parameters, the kept bytes and every kernel") {
  for (const char* name : {"bert-base", "gpt2", "gpt-neox-20b", "pangu-alpha-2.6b", "llama2-70b",
                           "transformer-base", "t5-small", "vit-b16"}) {
    const ModelConfig config = *model_named(name);
    const Model model = build_model(config, {});
    for (const Fusion fusion : kFusions) {
      CAPTURE(config.name);
      CAPTURE(name_of(fusion));
      const Explanation e = explain(model, fusion);
      std::int64_t trained = 0;
      for (std::size_t b = 0; b < e.blocks.size(); ++b) {
        const BlockKernels all = kernels(model.blocks[b].graph, fusion);
        std::size_t forward = 0;
        std::size_t backward = 0;
        Bytes saved;
        for (const KernelRow& row : e.blocks[b].kernels) {
          trained += e.blocks[b].count * row.parameters;
          forward += row.forward.size();
          backward += row.backward.size();
          saved += row.saved;
        }
        CHECK(forward == all.forward.size());
        CHECK(backward == all.backward_input.size() + all.backward_weight.size());
        Bytes expected;
        for (const TensorId t : saved_tensors(model.blocks[b].graph, fusion)) {
          expected += size_of(model.blocks[b].graph.tensors[static_cast<std::size_t>(t)]);
        }
        CHECK(saved == expected);
      }
      CHECK(trained == parameters(config));
      CHECK(e.parameters == trained);
    }
  }
}

TEST_CASE("shares of the classes are shares of a whole") {
  const Explanation e = explain(build_model(*model_named("bert-large"), {}), Fusion::none);
  double flop_share = 0;
  double byte_share = 0;
  for (const ClassShare& c : e.classes) {
    CHECK(c.kernels > 0);
    flop_share += c.flops_share;
    byte_share += c.bytes_share;
  }
  CHECK(flop_share == doctest::Approx(1));
  CHECK(byte_share == doctest::Approx(1));
  CHECK(e.classes[0].cls == OpClass::contraction);
  CHECK(e.classes[0].flops_share > 0.99);  // nearly all arithmetic ...
  CHECK(e.classes[0].bytes_share < 0.5);   // ... but less than half of the traffic
}

TEST_CASE("a fused kernel's row names all of its operators") {
  const Explanation e = explain(build_model(*model_named("gpt2"), {}), Fusion::framework);
  bool found = false;
  for (const KernelRow& row : e.blocks.at(1).kernels) {
    found = found || row.name == "mlp.fc1_bias + mlp.activation";
  }
  CHECK(found);
}

TEST_CASE("a layer's backward costs twice its forward in contractions") {
  const Explanation e = explain(build_model(*model_named("gpt3-1.3b"), {}), Fusion::none);
  for (const KernelRow& row : e.blocks.at(1).kernels) {
    if (row.cls != OpClass::contraction) { continue; }
    CAPTURE(row.name);
    CHECK(flops(row.backward).value == doctest::Approx(2 * flops(row.forward).value));
  }
}
