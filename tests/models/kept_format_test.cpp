#include "models/kept_format.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "models/kernel.hpp"
#include "models/registry.hpp"

using namespace tsim;
using namespace tsim::models;

namespace {

constexpr std::int64_t kTokens = 2 * 128;

BuildOptions options() {
  return {.micro_batch = 2, .sequence = 128, .compute = DType::bf16, .flash_attention = true};
}

OpGraph layer_of(const char* name, const BuildOptions& with) {
  const Model model = build_model(model_named(name).value(), with);
  return model.blocks[1].graph;
}

Bytes bytes_of(const std::vector<Kernel>& kernels, std::string_view name) {
  const auto at = std::ranges::find(kernels, name, &Kernel::name);
  REQUIRE(at != kernels.end());
  return at->bytes;
}

}  // namespace

TEST_CASE("an operator is meant by its name, its part or its kind") {
  const Op op{.name = "mlp.activation", .kind = OpKind::gated_activation, .part = Part::mlp};
  CHECK(means("mlp.activation", op));
  CHECK(means("mlp", op));
  CHECK(means("gated_activation", op));
  CHECK_FALSE(means("mlp.fc1", op));
  CHECK_FALSE(means("activation", op));
}

TEST_CASE("a kept activation in half as many bytes takes half the memory") {
  BuildOptions with = options();
  const OpGraph plain = layer_of("llama2-7b", with);
  with.kept = {{.operators = "gated_activation", .format = DType::fp8}};
  const OpGraph narrow = layer_of("llama2-7b", with);
  // Gate and value columns, 2 x 11008, of two bytes or of one.
  CHECK(saved_bytes(plain) - saved_bytes(narrow) == Bytes{kTokens * 2 * 11008});
}

TEST_CASE("the copy is written in the forward, and the backward reads it instead") {
  BuildOptions with = options();
  const BlockKernels plain = kernels(layer_of("llama2-7b", with), Fusion::framework);
  with.kept = {{.operators = "mlp.activation", .format = DType::fp8}};
  const BlockKernels narrow = kernels(layer_of("llama2-7b", with), Fusion::framework);
  const Bytes columns{kTokens * 2 * 11008};
  CHECK(bytes_of(narrow.forward, "mlp.activation") ==
        bytes_of(plain.forward, "mlp.activation") + columns);
  CHECK(bytes_of(narrow.backward_input, "mlp.activation.backward") ==
        bytes_of(plain.backward_input, "mlp.activation.backward") - columns);
  CHECK(narrow.forward.size() == plain.forward.size());
  CHECK(narrow.backward_input.size() == plain.backward_input.size());
}

TEST_CASE("a format that is no narrower changes nothing") {
  BuildOptions with = options();
  const OpGraph plain = layer_of("llama2-7b", with);
  with.kept = {{.operators = "mlp", .format = DType::bf16}};
  CHECK(layer_of("llama2-7b", with) == plain);
}

TEST_CASE("rows that are scaled before their second product need not be kept after it") {
  BuildOptions with = options();
  const OpGraph late = layer_of("mixtral-8x7b", with);
  with.scales_early = true;
  const OpGraph early = layer_of("mixtral-8x7b", with);
  // Two rows of 4096 columns for every token; a scale for each row in place of a probability.
  CHECK(saved_bytes(late) - saved_bytes(early) == Bytes{kTokens * 2 * 4096 * 2});
  CHECK(parameters(late) == parameters(early));
}
