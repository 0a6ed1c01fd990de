// Low-rank adapters [arXiv:2106.09685]: parameters, work and what is kept, counted by hand.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "models/explain.hpp"
#include "models/kernel.hpp"
#include "models/registry.hpp"

using namespace tsim;
using namespace tsim::models;

namespace {

const std::vector<std::string> kFour{"attention.qkv", "attention.projection", "mlp.fc1", "mlp.fc2"};

ModelConfig with_adapters(const std::string& name, LoraConfig lora) {
  ModelConfig config = *model_named(name);
  config.lora = std::move(lora);
  return config;
}

OpGraph layer_of(const ModelConfig& config, const BuildOptions& options = {}) {
  const Model model = build_model(config, options);
  return std::ranges::find(model.blocks, BlockKind::layer, &Block::kind)->graph;
}

const Op& op_named(const OpGraph& graph, const std::string& name) {
  const auto it = std::ranges::find(graph.ops, name, &Op::name);
  REQUIRE_MESSAGE(it != graph.ops.end(), name);
  return *it;
}

double flops_of(const std::vector<Kernel>& kernels) { return flops(kernels).value; }

bool has_kernel(const std::vector<Kernel>& kernels, const std::string& name) {
  return std::ranges::find(kernels, name, &Kernel::name) != kernels.end();
}

bool keeps(const OpGraph& graph, const std::string& tensor) {
  return std::ranges::any_of(saved_tensors(graph), [&](TensorId id) {
    return graph.tensors[static_cast<std::size_t>(id)].name == tensor;
  });
}

/// A decoder layer's linear parameters and tokens: Llama 3 8B, 4096 x (6144 + 4096 + 28672) and
/// 14336 x 4096 of one sample of 8192.
constexpr double kLinear = 4096.0 * (6144 + 4096 + 28672) + 14336.0 * 4096;
constexpr double kTokens = 8192;

}  // namespace

TEST_CASE("adapters of GPT-3 train 4.7 and 18.9 million parameters") {
  // [arXiv:2106.09685, sec. 4.2 and table 4]: of W_q and W_v alone rank 4 takes 2 x 2 d r = 4 d r
  // of a layer: 4 x 12288 x 4 x 96 = 18.9 M. One of the fused product, of d and 3 d, takes
  // r (d + 3 d), which is the same.
  const auto trained = [](std::int64_t rank) {
    return trained_parameters(
        with_adapters("gpt3-175b", {.rank = rank, .targets = {"attention.qkv"}}));
  };
  CHECK(trained(4) == 18'874'368);
  CHECK(trained(1) == 4'718'592);
}

TEST_CASE("adapters of rank 16 on the four products of Llama 3") {
  // 8B, a layer: 16 (4096 + 6144) + 16 (4096 + 4096) + 16 (4096 + 28672) + 16 (14336 + 4096).
  // Hugging Face PEFT trains 41,943,040 with adapters of seven separate products: q, k and v have
  // an A of their own there, gate and up also, so 3 x 16 x 4096 more of each of 32 layers.
  const ModelConfig small = with_adapters("llama3-8b", {.rank = 16});
  CHECK(trained_parameters(small) == 32 * 16 * (10'240 + 8'192 + 32'768 + 18'432));
  CHECK(trained_parameters(small) == 41'943'040 - 32 * 3 * 16 * 4'096);
  CHECK(parameters(small) == 8'030'261'248 + trained_parameters(small));
  // 70B: qkv 8192 x 10240, projection 8192 x 8192, fc1 8192 x 57344, fc2 28672 x 8192.
  const ModelConfig large = with_adapters("llama3-70b", {.rank = 16});
  CHECK(trained_parameters(large) == 80 * 16 * (18'432 + 16'384 + 65'536 + 36'864));
  const ModelConfig qkv = with_adapters("llama3-70b", {.rank = 16, .targets = {"attention.qkv"}});
  CHECK(trained_parameters(qkv) == 80 * 16 * 18'432);
  CHECK(with_adapters("llama3-8b", {.rank = 16, .targets = kFour}).lora.targets == kFour);
  CHECK(trained_parameters(with_adapters("llama3-8b", {.rank = 16, .targets = kFour})) ==
        trained_parameters(small));
}

TEST_CASE("without adapters everything is trained") {
  const ModelConfig config = *model_named("llama3-8b");
  CHECK(trained_parameters(config) == parameters(config));
  const Model model = build_model(config, {});
  CHECK(training_model_flops(model).value == 3 * forward_model_flops(model).value);
}

TEST_CASE("a frozen product makes its input's gradient alone") {
  const ModelConfig config = with_adapters("llama3-8b", {.rank = 16});
  const OpGraph graph = layer_of(config, {.flash_attention = true});
  const BlockKernels k = kernels(graph, Fusion::framework);
  CHECK(has_kernel(k.backward_input, "mlp.fc1.input_gradient"));
  CHECK_FALSE(has_kernel(k.backward_weight, "mlp.fc1.weight_gradient"));
  CHECK(has_kernel(k.backward_weight, "mlp.fc1.lora_a.weight_gradient"));
  CHECK(has_kernel(k.backward_weight, "mlp.fc1.lora_b.weight_gradient"));
  // Only adapters' weights: 2 FLOPs for each of their parameters and tokens.
  CHECK(flops_of(k.backward_weight) ==
        doctest::Approx(2 * kTokens * 16 * (10'240 + 8'192 + 32'768 + 18'432)));
}

TEST_CASE("the backward of a layer with frozen weights: 2 of 4 FLOPs a parameter and token") {
  const ModelConfig base = *model_named("llama3-8b");
  const ModelConfig config = with_adapters("llama3-8b", {.rank = 16, .targets = {"attention.qkv"}});
  const auto products = [](const ModelConfig& c) {
    double sum = 0;
    const BlockKernels k = kernels(layer_of(c, {.flash_attention = true}), Fusion::framework);
    for (const auto* list : {&k.backward_input, &k.backward_weight}) {
      for (const Kernel& kernel : *list) {
        sum += kernel.kind == OpKind::matmul ? kernel.flops.value : 0;
      }
    }
    return sum;
  };
  CHECK(products(base) == doctest::Approx(4 * kTokens * kLinear));
  const double adapter = 16 * (4096.0 + 6144);
  CHECK(products(config) == doctest::Approx(kTokens * (2 * kLinear + 4 * adapter)));
}

TEST_CASE("model FLOPs of a training step: 4 for a frozen parameter and token, 6 for others") {
  const ModelConfig config = with_adapters("llama3-8b", {.rank = 16});
  const ModelConfig base = *model_named("llama3-8b");
  const double head = 4096.0 * 128'256;
  const double frozen = 32 * kLinear + head;
  const double adapters = 32.0 * 16 * (10'240 + 8'192 + 32'768 + 18'432);
  const double attention = 32 * 2 * 2.0 * kTokens * kTokens * 4096;  // two products, forward
  const double step = training_model_flops(build_model(config, {})).value;
  CHECK(step == doctest::Approx(kTokens * (4 * frozen + 6 * adapters) + 3 * attention));
  CHECK(training_model_flops(build_model(base, {})).value ==
        doctest::Approx(kTokens * 6 * frozen + 3 * attention));
}

TEST_CASE("inputs of frozen products are kept where an adapter reads them") {
  const ModelConfig config = with_adapters("llama3-8b", {.rank = 16, .targets = {"attention.qkv"}});
  const OpGraph graph = layer_of(config, {.flash_attention = true});
  CHECK(keeps(graph, "attention.norm"));        // A's input
  CHECK(keeps(graph, "attention.qkv.lora_a"));  // B's input
  CHECK_FALSE(keeps(graph, "mlp.norm"));        // for the gradient of fc1's weight only
  CHECK_FALSE(keeps(graph, "mlp.activation"));  // for that of fc2's
  CHECK(keeps(graph, "mlp.fc1"));               // the activation function's derivative
  // By hand, 16 bit, tokens x columns: two norms' inputs, the first norm's output, A's output;
  // queries, keys, values and context; gate and up. Besides fp32 statistics of two norms and the
  // log-sum-exp of 32 heads.
  const double columns = 3 * 4096 + 16 + 6144 + 4096 + 28'672;
  CHECK(to_double(saved_bytes(graph)) == kTokens * (2 * columns + 4 * (2 + 32)));
}

TEST_CASE("nothing flows back into the embedding") {
  const Model model = build_model(with_adapters("bert-base", {.rank = 8}), {});
  const Block& embedding = model.blocks.front();
  const BlockKernels k = kernels(embedding.graph, Fusion::framework);
  CHECK(k.backward_input.empty());
  CHECK(k.backward_weight.empty());
  CHECK(saved_tensors(embedding.graph).empty());
  const BlockKernels head = kernels(model.blocks.back().graph, Fusion::framework);
  CHECK_FALSE(head.backward_input.empty());
  CHECK(head.backward_weight.empty());
}

TEST_CASE("frozen norms, biases and tables have no gradients, fused or not") {
  for (const char* name : {"bert-base", "gpt2", "t5-small", "swin-t", "mixtral-8x7b"}) {
    for (const Fusion fusion : {Fusion::none, Fusion::framework, Fusion::full}) {
      for (const Block& block : build_model(with_adapters(name, {.rank = 4}), {}).blocks) {
        for (const Kernel& k : kernels(block.graph, fusion).backward_weight) {
          CHECK_MESSAGE(k.name.find(".lora_") != std::string::npos, name << " " << k.name);
        }
      }
    }
  }
}

TEST_CASE("adapters stay in 16 bit under fp8") {
  const OpGraph graph = layer_of(with_adapters("llama3-8b", {.rank = 16}), {.compute = DType::fp8});
  const auto format = [&](const Operand& o) {
    return graph.tensors[static_cast<std::size_t>(o.tensor)].dtype;
  };
  CHECK(format(op_named(graph, "mlp.fc1").weights.front()) == DType::fp8);
  CHECK(format(op_named(graph, "mlp.fc1.lora_a").weights.front()) == DType::bf16);
  CHECK(format(op_named(graph, "mlp.fc1.lora_a").inputs.front()) == DType::bf16);
  CHECK_FALSE(keeps(graph, "mlp.fc1.cast"));
}

TEST_CASE("dropout comes before the first matrix") {
  const ModelConfig config =
      with_adapters("llama3-8b", {.rank = 16, .targets = {"mlp.fc1"}, .dropout = 0.05});
  const OpGraph graph = layer_of(config);
  const Op& down = op_named(graph, "mlp.fc1.lora_a");
  const Op& drop = op_named(graph, "mlp.fc1.lora_dropout");
  CHECK(down.inputs.front().tensor == drop.outputs.front().tensor);
  CHECK(keeps(graph, "mlp.fc1.lora_dropout.mask"));
  CHECK_FALSE(keeps(graph, "mlp.norm"));
}

TEST_CASE("adapters that cannot be") {
  const auto problem = [](const std::string& name, const LoraConfig& lora) {
    const auto all = problems(with_adapters(name, lora));
    REQUIRE(all.size() == 1);
    return all.front();
  };
  CHECK(problems(with_adapters("llama3-8b", {.rank = 16})).empty());
  CHECK(problems(with_adapters("mixtral-8x7b", {.rank = 16})).empty());
  const ConfigProblem unknown = problem("llama3-8b", {.rank = 16, .targets = {"linear_qkv"}});
  CHECK(unknown.key == "lora/targets/0");
  CHECK(unknown.expected == "one of attention.qkv, attention.projection, mlp.fc1, mlp.fc2");
  const ConfigProblem experts = problem("mixtral-8x7b", {.rank = 16, .targets = {"experts.fc1"}});
  CHECK(experts.expected == "one of attention.qkv, attention.projection");
  CHECK(experts.hint.starts_with("routed experts"));
  const ConfigProblem rank = problem("llama3-8b", {.rank = 4096});
  CHECK(rank.key == "lora/rank");
  CHECK(rank.expected == "less than 4096, the smaller side of attention.qkv");
  CHECK(problem("llama3-8b", {.targets = {"mlp.fc1"}}).key == "lora/rank");
  CHECK(problem("llama3-8b", {.rank = 2, .dropout = 1}).key == "lora/dropout");
}
