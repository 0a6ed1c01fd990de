// Products in fp8: what they read is quantised, everything between them stays bf16.
#include <doctest/doctest.h>

#include <algorithm>

#include "models/kernel.hpp"
#include "models/model.hpp"
#include "models/registry.hpp"

using namespace tsim;
using namespace tsim::models;

namespace {

Model gpt2(DType compute) {
  return build_model(model_named("gpt2").value(), {.micro_batch = 1, .compute = compute});
}

std::vector<Kernel> forward(const Block& block) {
  return kernels(block.graph, Fusion::framework).forward;
}

}  // namespace

TEST_CASE("only products with weights compute in fp8, but for the head's") {
  const Model model = gpt2(DType::fp8);
  for (const Block& block : model.blocks) {
    for (const Kernel& k : forward(block)) {
      const bool product = k.kind == OpKind::matmul && k.part != Part::head;
      CAPTURE(k.name);
      CHECK((k.dtype == DType::fp8) == product);
    }
  }
}

TEST_CASE("each of a layer's four products has its input quantised") {
  const Model model = gpt2(DType::fp8);
  const auto casts = std::ranges::count_if(model.blocks[1].graph.ops, [](const Op& op) {
    return op.kind == OpKind::cast && op.part != Part::loss;
  });
  CHECK(casts == 4);
  const Model wide = gpt2(DType::bf16);
  CHECK(std::ranges::none_of(wide.blocks[1].graph.ops,
                             [](const Op& op) { return op.kind == OpKind::cast; }));
}

TEST_CASE("quantised inputs are kept in a byte, in place of what only a product reads") {
  // The output projection's input [1, 1024, 768] and the MLP's second [1, 1024, 3072] are kept by
  // the attention, or by the activation function, in bf16 no longer needed by a product.
  const auto bytes = [](DType compute, const char* name) {
    const OpGraph graph = gpt2(compute).blocks[1].graph;
    for (const TensorId id : saved_tensors(graph)) {
      const Tensor& t = graph.tensors[static_cast<std::size_t>(id)];
      if (t.name == name) { return size_of(t).value; }
    }
    return std::int64_t{0};
  };
  CHECK(bytes(DType::fp8, "mlp.fc2.cast") == 1024 * 3072);
  CHECK(saved_bytes(gpt2(DType::fp8).blocks[1].graph) <
        saved_bytes(gpt2(DType::bf16).blocks[1].graph));
}

TEST_CASE("model FLOPs do not depend on the format") {
  CHECK(forward_model_flops(gpt2(DType::fp8)).value ==
        forward_model_flops(gpt2(DType::bf16)).value);
}
