// Mixture-of-experts layers: shapes, work and parameters, counted by hand.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "models/kernel.hpp"
#include "models/registry.hpp"

using namespace tsim;
using namespace tsim::models;

namespace {

/// 2 layers of width 8 with 4 experts of 16 columns; ReLU, no biases.
ModelConfig tiny() {
  return {.name = "tiny",
          .family = Family::decoder,
          .layers = 2,
          .hidden = 8,
          .heads = 2,
          .kv_heads = 2,
          .head_dim = 4,
          .ffn = 32,
          .vocab = 100,
          .sequence = 12,
          .norm = Norm::rms_norm,
          .activation = Activation::relu,
          .positions = Positions::none,
          .bias = false,
          .qkv_bias = false,
          .causal = true,
          .tied_embedding = false,
          .moe = {.experts = 4, .top_k = 2, .ffn = 16}};
}

OpGraph layer_of(const ModelConfig& config, const BuildOptions& options = {}) {
  return build_model(config, options).blocks.at(1).graph;
}

const Op& op_named(const OpGraph& graph, const std::string& name) {
  const auto it = std::ranges::find(graph.ops, name, &Op::name);
  REQUIRE_MESSAGE(it != graph.ops.end(), name);
  return *it;
}

const Kernel& kernel_named(const std::vector<Kernel>& kernels, const std::string& name) {
  const auto it = std::ranges::find(kernels, name, &Kernel::name);
  REQUIRE_MESSAGE(it != kernels.end(), name);
  return *it;
}

std::int64_t slots_of(const BuildOptions& options, const ModelConfig& config = tiny()) {
  return op_named(layer_of(config, options), "experts.fc1").space.at(1).size;
}

std::vector<std::string> block_names(const ModelConfig& config) {
  std::vector<std::string> names;
  for (const Block& b : build_model(config, {}).blocks) {
    names.push_back(std::to_string(b.count) + " " + b.name);
  }
  return names;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("a routed layer runs router, choice, dispatch, experts, combine in this order") {
  Names names;
  for (const Op& op : layer_of(tiny()).ops) { names.push_back(op.name); }
  const auto norm = std::ranges::find(names, "mlp.norm");
  CHECK(Names(norm + 1, names.end()) ==
        Names{"router.cast", "router", "router.top_k", "experts.dispatch", "experts.fc1",
              "experts.activation", "experts.fc2", "experts.combine", "mlp.residual"});
}

TEST_CASE("without a capacity an expert's rows are the mean, rounded up") {
  // 3 samples of 12 tokens to 2 of 4 experts: 18 rows each.
  CHECK(slots_of({.micro_batch = 3}) == 18);
  CHECK(slots_of({.micro_batch = 3, .expert_load = 1.5}) == 27);
  CHECK(slots_of({.micro_batch = 1, .sequence = 5}) == 3);  // 2.5
}

TEST_CASE("a capacity factor sizes the buffer whatever the load") {
  CHECK(slots_of({.micro_batch = 3, .capacity_factor = 1.25}) == 23);  // 22.5
  CHECK(slots_of({.micro_batch = 3, .capacity_factor = 0.5, .expert_load = 4}) == 9);
  CHECK(slots_of({.micro_batch = 1, .sequence = 1, .capacity_factor = 0.1}) == 1);
}

TEST_CASE("model FLOPs count tokens x top_k rows, the kernels the whole buffer") {
  const BuildOptions padded{.micro_batch = 3, .capacity_factor = 2};
  const Op fc1 = op_named(layer_of(tiny(), padded), "experts.fc1");
  CHECK(model_flops(fc1).value == doctest::Approx(2.0 * 36 * 2 * 8 * 16));
  const auto all = kernels(layer_of(tiny(), padded), Fusion::none);
  CHECK(kernel_named(all.forward, "experts.fc1").flops.value ==
        doctest::Approx(2.0 * 4 * 36 * 8 * 16));
}

TEST_CASE("the kernels of a grouped product are one product for each expert") {
  const auto all = kernels(layer_of(tiny(), {.micro_batch = 3}), Fusion::none);
  const Kernel& forward = kernel_named(all.forward, "experts.fc1");
  CHECK(forward.kind == OpKind::grouped_matmul);
  CHECK(forward.batch == 4);
  CHECK(forward.m == 18);
  CHECK(forward.n == 16);
  CHECK(forward.k == 8);
  // Two bytes for each of 4 x (18 x 8 + 8 x 16 + 18 x 16).
  CHECK(forward.bytes == Bytes{2 * 4 * (144 + 128 + 288)});
  const Kernel& input = kernel_named(all.backward_input, "experts.fc1.input_gradient");
  CHECK(input.batch == 4);
  CHECK(input.m == 18);
  CHECK(input.n == 8);
  CHECK(input.k == 16);
  const Kernel& weight = kernel_named(all.backward_weight, "experts.fc1.weight_gradient");
  CHECK(weight.batch == 4);
  CHECK(weight.m == 8);
  CHECK(weight.n == 16);
  CHECK(weight.k == 18);
  CHECK(weight.flops == forward.flops);
  CHECK(weight.pass == Pass::weight_gradient);
}

TEST_CASE("dispatch copies tokens to slots, its backward slots to tokens") {
  const auto all = kernels(layer_of(tiny(), {.micro_batch = 3}), Fusion::none);
  // 36 tokens and 72 slots of 8 two-byte columns; 72 ids of 8 bytes.
  const Bytes moved{2 * 8 * (36 + 72) + 72 * 8};
  CHECK(kernel_named(all.forward, "experts.dispatch").bytes == moved);
  CHECK(kernel_named(all.backward_input, "experts.dispatch.backward").bytes == moved);
}

TEST_CASE("combine reads results and probabilities, its backward writes both gradients") {
  const auto all = kernels(layer_of(tiny(), {.micro_batch = 3}), Fusion::none);
  // fp32 probabilities and 8-byte ids of 72 routes.
  const Bytes results{2 * 8 * 72};
  const Bytes routes{72 * (4 + 8)};
  CHECK(kernel_named(all.forward, "experts.combine").bytes == results + routes + Bytes{2 * 8 * 36});
  CHECK(kernel_named(all.backward_input, "experts.combine.backward").bytes ==
        Bytes{2 * 8 * 36} + results + routes + results + Bytes{72 * 4});
}

TEST_CASE("the router computes in fp32") {
  const auto all = kernels(layer_of(tiny()), Fusion::framework);
  CHECK(kernel_named(all.forward, "router").dtype == DType::fp32);
  CHECK(kernel_named(all.forward, "experts.fc1").dtype == DType::fp16);
}

TEST_CASE("one expert of the dense width does the dense layer's work") {
  ModelConfig one = tiny();
  one.moe = {.experts = 1, .top_k = 1, .ffn = 32};
  ModelConfig dense = tiny();
  dense.moe = {};
  const double router = 2.0 * 12 * 8;  // one output for each token
  CHECK(forward_model_flops(build_model(one, {})).value ==
        doctest::Approx(forward_model_flops(build_model(dense, {})).value + 2 * router));
  CHECK(parameters(one) == parameters(dense) + 2 * 8);
  CHECK(active_parameters(one) == parameters(one));
}

TEST_CASE("all experts hold parameters, top_k of them are active") {
  ModelConfig dense = tiny();
  dense.moe = {};
  const std::int64_t without = parameters(dense) - 2 * 2 * 8 * 32;  // its two MLPs
  const std::int64_t expert = 2 * 8 * 16;
  CHECK(parameters(tiny()) == without + 2 * (4 * 8 + 4 * expert));
  CHECK(active_parameters(tiny()) == without + 2 * (4 * 8 + 2 * expert));
}

TEST_CASE("a shared expert and its gate run beside the routed ones") {
  ModelConfig c = tiny();
  const std::int64_t before = parameters(c);
  c.moe.shared_experts = 2;
  c.moe.shared_ffn = 24;
  CHECK(parameters(c) == before + 2 * (2 * 8 * 24));
  CHECK(active_parameters(c) == active_parameters(tiny()) + 2 * (2 * 8 * 24));
  c.moe.shared_gate = true;
  CHECK(parameters(c) == before + 2 * (2 * 8 * 24 + 8));
  const OpGraph layer = layer_of(c);
  CHECK(op_named(layer, "shared.fc1").part == Part::mlp);
  CHECK(has_axis(op_named(layer, "shared.fc1").space, Axis::ffn));
}

TEST_CASE("a residual layer has the dense MLP beside its experts") {
  ModelConfig c = tiny();
  c.moe.residual = true;
  CHECK(parameters(c) == parameters(tiny()) + 2 * (2 * 8 * 32));
}

TEST_CASE("a pyramid has its own number of experts in every layer") {
  ModelConfig c = tiny();
  c.moe.experts_by_layer = {2, 4};
  CHECK(parameters(c) == parameters(tiny()) - 2 * (8 + 2 * 8 * 16));
  CHECK(layer_experts(c) == std::vector<std::int64_t>{2, 4});
  CHECK(block_names(c) == Names{"1 embedding", "1 MoE layer", "1 MoE layer", "1 head"});
}

TEST_CASE("dense and MoE layers form blocks of consecutive copies") {
  ModelConfig c = tiny();
  c.layers = 8;
  c.moe.first_dense = 3;
  CHECK(block_names(c) == Names{"1 embedding", "3 dense layer", "5 MoE layer", "1 head"});
  c.moe.first_dense = 0;
  c.moe.every = 4;
  c.moe.offset = 3;
  CHECK(block_names(c) == Names{"1 embedding", "3 dense layer", "1 MoE layer", "3 dense layer",
                                "1 MoE layer", "1 head"});
  c.moe.every = 1;
  c.moe.offset = 0;
  c.moe.layers = {2, 3, 7};
  CHECK(layer_experts(c) == std::vector<std::int64_t>{0, 0, 4, 4, 0, 0, 0, 4});
}

TEST_CASE("dimensions of experts that cannot be are all told") {
  ModelConfig c = tiny();
  c.moe = {.experts = 4,
           .top_k = 5,
           .ffn = 0,
           .shared_experts = 1,
           .shared_gate = true,
           .every = 2,
           .offset = 2};
  Names keys;
  for (const ConfigProblem& p : problems(c)) { keys.push_back(p.key); }
  CHECK(keys == Names{"moe/ffn", "moe/top_k", "moe/shared_ffn", "moe/shared_gate", "moe/offset"});
}

TEST_CASE("keys of a mixture without experts are a problem") {
  ModelConfig c = tiny();
  c.moe.experts = 0;
  const auto found = problems(c);
  REQUIRE(found.size() == 1);
  CHECK(found[0].key == "moe/experts");
}

TEST_CASE("lists of layers and of experts have to fit the model") {
  ModelConfig c = tiny();
  c.moe.experts_by_layer = {4, 4, 4};
  REQUIRE(problems(c).size() == 1);
  CHECK(problems(c)[0].expected == "2: one for every layer with experts");
  c = tiny();
  c.moe.layers = {1, 0};
  REQUIRE(problems(c).size() == 1);
  CHECK(problems(c)[0].key == "moe/layers");
  c.moe.layers = {2};
  CHECK(problems(c)[0].found == "2");
}

TEST_CASE("latent attention keeps low-rank columns whole and gives each head keys and values") {
  const ModelConfig c = *model_named("deepseek-v3");
  const OpGraph layer = layer_of(c, {.flash_attention = true});
  const Op& flash = op_named(layer, "attention.flash");
  // 128 heads, scores over 128 + 64 columns, values of 128: 2 (192 + 128) FLOPs for each pair.
  CHECK(model_flops(flash).value == doctest::Approx(2.0 * 128 * 4096 * 4096 * (192 + 128)));
  CHECK(op_named(layer, "attention.kv_down").space.at(2) == Dim{Axis::kv_rank, 576});
  CHECK(elements(op_named(layer, "attention.projection").weights.at(0).shape) == 128 * 128 * 7168);
}

TEST_CASE("head widths of latent attention have to agree") {
  ModelConfig c = *model_named("deepseek-v3");
  c.head_dim = 128;
  c.latent.qk_rope_head_dim = 63;
  Names keys;
  for (const ConfigProblem& p : problems(c)) { keys.push_back(p.key); }
  CHECK(keys == Names{"latent/qk_rope_head_dim", "head_dim"});
}
