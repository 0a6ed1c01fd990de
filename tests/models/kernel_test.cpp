// Kernels and their fusion on single layers, counted by hand.
#include "models/kernel.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "models/registry.hpp"

using namespace tsim;
using namespace tsim::models;

namespace {

OpGraph layer_of(const char* name, const BuildOptions& options = {}) {
  return build_model(*model_named(name), options).blocks.at(1).graph;
}

OpGraph block_of(const char* name, BlockKind kind, const BuildOptions& options = {}) {
  for (const Block& b : build_model(*model_named(name), options).blocks) {
    if (b.kind == kind) { return b.graph; }
  }
  FAIL("no such block");
  return {};
}

const Kernel& named(const std::vector<Kernel>& kernels, const std::string& name) {
  const auto it = std::ranges::find(kernels, name, &Kernel::name);
  REQUIRE_MESSAGE(it != kernels.end(), name);
  return *it;
}

/// Names of the operators of each group that holds more than one, "a+b+c".
std::vector<std::string> joined_groups(const OpGraph& graph, Fusion fusion) {
  std::vector<std::string> found;
  for (const auto& group : fuse(graph, fusion)) {
    if (group.size() < 2) { continue; }
    std::string text;
    for (const OpId op : group) {
      text += (text.empty() ? "" : "+") + graph.ops[static_cast<std::size_t>(op)].name;
    }
    found.push_back(text);
  }
  return found;
}

Flops total_flops(const std::vector<Kernel>& kernels, OpClass cls) {
  Flops sum;
  for (const Kernel& k : kernels) {
    if (k.cls == cls) { sum += k.flops; }
  }
  return sum;
}

struct Work {
  std::int64_t bytes = 0, kernels = 0;
};
Work work(const OpGraph& graph, Fusion fusion) {
  const BlockKernels all = kernels(graph, fusion);
  Work w;
  for (const auto* list : {&all.forward, &all.backward_input, &all.backward_weight}) {
    for (const Kernel& k : *list) { w.bytes += k.bytes.value; }
    w.kernels += static_cast<std::int64_t>(list->size());
  }
  return w;
}

// GPT-2: s = 1024, h = 768, a = 12, f = 3072; one sample, two bytes an element.
constexpr std::int64_t kStream = 2 * 1024 * 768;
constexpr std::int64_t kScores = 2LL * 12 * 1024 * 1024;

}  // namespace

TEST_CASE("without fusion every operator is a kernel") {
  const OpGraph layer = layer_of("gpt2");
  CHECK(fuse(layer, Fusion::none).size() == layer.ops.size());
  // Two norms, qkv, scores, context, projection, fc1, fc2, four biases, scale, mask, softmax,
  // activation, three dropouts, two residuals.
  CHECK(kernels(layer, Fusion::none).forward.size() == 21);
}

TEST_CASE("frameworks join bias+dropout+add, bias+activation, scale+mask+softmax, product+bias") {
  CHECK(joined_groups(layer_of("gpt2"), Fusion::framework) ==
        std::vector<std::string>{
            "attention.qkv+attention.qkv_bias", "attention.scale+attention.mask+attention.softmax",
            "attention.projection_bias+attention.output_dropout+attention.residual",
            "mlp.fc1_bias+mlp.activation", "mlp.fc2_bias+mlp.output_dropout+mlp.residual"});
}

TEST_CASE("full fusion also takes the norm after a residual and the dropout after a softmax") {
  CHECK(joined_groups(layer_of("gpt2"), Fusion::full) ==
        std::vector<std::string>{
            "attention.qkv+attention.qkv_bias",
            "attention.scale+attention.mask+attention.softmax+attention.dropout",
            "attention.projection_bias+attention.output_dropout+attention.residual+mlp.norm",
            "mlp.fc1_bias+mlp.activation", "mlp.fc2_bias+mlp.output_dropout+mlp.residual"});
}

TEST_CASE("full fusion makes one kernel of BERT's embeddings") {
  const OpGraph graph = block_of("bert-base", BlockKind::embedding);
  const BlockKernels all = kernels(graph, Fusion::full);
  REQUIRE(all.forward.size() == 1);
  CHECK(all.backward_input.empty());
  CHECK(all.backward_weight.size() == 1);
}

TEST_CASE("a product states the matrices that it multiplies") {
  const BlockKernels all = kernels(layer_of("llama2-70b", {.micro_batch = 2}), Fusion::none);
  const auto shape = [](const Kernel& k) {
    return std::vector<std::int64_t>{k.batch, k.m, k.n, k.k};
  };
  using Shape4 = std::vector<std::int64_t>;
  // 2 x 4096 tokens, h 8192, (64 + 2 * 8) * 128 columns, 2 * 28672 gate columns.
  CHECK(shape(named(all.forward, "attention.qkv")) == Shape4{1, 8192, 10240, 8192});
  CHECK(shape(named(all.forward, "attention.scores")) == Shape4{128, 4096, 4096, 128});
  CHECK(shape(named(all.forward, "attention.context")) == Shape4{128, 4096, 128, 4096});
  CHECK(shape(named(all.forward, "attention.projection")) == Shape4{1, 8192, 8192, 8192});
  CHECK(shape(named(all.forward, "mlp.fc1")) == Shape4{1, 8192, 57344, 8192});
  CHECK(shape(named(all.forward, "mlp.fc2")) == Shape4{1, 8192, 8192, 28672});
  CHECK(shape(named(all.backward_input, "mlp.fc2.input_gradient")) == Shape4{1, 8192, 28672, 8192});
  CHECK(shape(named(all.backward_weight, "mlp.fc2.weight_gradient")) ==
        Shape4{1, 28672, 8192, 8192});
  CHECK(shape(named(all.backward_input, "attention.scores.second_gradient")) ==
        Shape4{128, 128, 4096, 4096});
}

TEST_CASE("a product moves its operands and its result once") {
  const BlockKernels all = kernels(layer_of("gpt2"), Fusion::none);
  // qkv: input, 3 h^2 weights, 3 times the stream out.
  CHECK(named(all.forward, "attention.qkv").bytes.value == 4 * kStream + 2 * 3 * 768 * 768);
  // Scores: queries and keys in, scores out.
  CHECK(named(all.forward, "attention.scores").bytes.value == 2 * kStream + kScores);
  // Context: probabilities and values in, context out.
  CHECK(named(all.forward, "attention.context").bytes.value == kScores + 2 * kStream);
}

TEST_CASE("unfused element-wise kernels read and write all of their tensors") {
  const BlockKernels all = kernels(layer_of("gpt2"), Fusion::none);
  CHECK(named(all.forward, "attention.residual").bytes.value == 3 * kStream);
  CHECK(named(all.forward, "attention.output_dropout").bytes.value == 2 * kStream + kStream / 2);
  CHECK(named(all.forward, "mlp.activation").bytes.value == 2 * 4 * kStream);
  CHECK(named(all.forward, "attention.softmax").bytes.value == 2 * kScores);
  // Backward: output's gradient and softmax's output in, input's gradient out.
  CHECK(named(all.backward_input, "attention.softmax.backward").bytes.value == 3 * kScores);
  // GELU: output's gradient and input in, input's gradient out.
  CHECK(named(all.backward_input, "mlp.activation.backward").bytes.value == 3 * 4 * kStream);
}

TEST_CASE("a fused kernel moves nothing that stays inside it") {
  const BlockKernels all = kernels(layer_of("gpt2"), Fusion::framework);
  // Product and residual in, sum and mask out, a vector of h.
  CHECK(named(all.forward, "attention.projection_bias").bytes.value ==
        3 * kStream + kStream / 2 + 2 * 768);
  // fc1's product in, GELU's result out: its input is made again in the backward.
  CHECK(named(all.forward, "mlp.fc1_bias").bytes.value == 2 * 4 * kStream + 2 * 3072);
  // Scores in, probabilities out, one byte of mask per pair of tokens.
  CHECK(named(all.forward, "attention.scale").bytes.value == 2 * kScores + 1024 * 1024);
}

TEST_CASE("full fusion writes no mask and adds the residual's gradient inside the norm's kernel") {
  const BlockKernels all = kernels(layer_of("gpt2"), Fusion::full);
  // Probabilities before and after the dropout are written, both are needed later.
  CHECK(named(all.forward, "attention.scale").bytes.value == 3 * kScores + 1024 * 1024);
  for (const Kernel& k : all.backward_input) {
    CHECK(k.name.find("gradient_sum") == std::string::npos);
  }
  // Norm and residual: gradients of the norm's output and of the other branch, the norm's input in;
  // gradients of the projection and of the residual out; plus vectors of h and statistics.
  const double streams =
      to_double(named(all.backward_input, "attention.projection_bias.backward").bytes) / kStream;
  CHECK(streams == doctest::Approx(5).epsilon(0.005));
}

TEST_CASE("where a tensor feeds two kernels their gradients are added by a third") {
  const BlockKernels all = kernels(layer_of("gpt2"), Fusion::framework);
  const auto sums = std::ranges::count_if(
      all.backward_input, [](const Kernel& k) { return k.name.ends_with(".gradient_sum"); });
  CHECK(sums == 2);  // the layer's input and the stream between attention and MLP
  CHECK(named(all.backward_input, "input.gradient_sum").bytes.value == 3 * kStream);
  // GPT-NeoX: two norms and the residual read the input.
  const BlockKernels parallel = kernels(layer_of("gpt-neox-20b"), Fusion::framework);
  CHECK(std::ranges::count(parallel.backward_input, "input.gradient_sum", &Kernel::name) == 2);
}

TEST_CASE("the gradients of queries, keys and values are joined by a copy unless all is fused") {
  for (const bool flash : {false, true}) {
    const OpGraph layer = layer_of("gpt2", {.flash_attention = flash});
    const BlockKernels all = kernels(layer, Fusion::framework);
    const Kernel& join = named(all.backward_input, "attention.qkv_bias.gradient_join");
    CHECK(join.bytes.value == 2 * 3 * kStream);
    CHECK(join.elements == 3 * 1024 * 768);
    for (const Kernel& k : kernels(layer, Fusion::full).backward_input) {
      CHECK_FALSE(k.name.ends_with(".gradient_join"));
    }
  }
}

TEST_CASE("a product's operands lie as its pass reads them") {
  const BlockKernels all = kernels(layer_of("gpt2"), Fusion::framework);
  CHECK(named(all.forward, "mlp.fc1").operands == Operands::nt);
  CHECK(named(all.backward_input, "mlp.fc1.input_gradient").operands == Operands::nn);
  CHECK(named(all.backward_weight, "mlp.fc1.weight_gradient").operands == Operands::tn);
  CHECK(named(all.forward, "attention.scores").operands == Operands::nt);
  CHECK(named(all.forward, "attention.context").operands == Operands::nn);
  CHECK(named(all.backward_input, "attention.context.input_gradient").operands == Operands::nt);
  CHECK(named(all.backward_weight, "mlp.fc1.weight_gradient").pass == Pass::weight_gradient);
}

TEST_CASE("a product that adds to sums in fp32 reads and writes four bytes of each weight") {
  // GPT-2's fc1 [3072, 768] of 1024 tokens: x and dy in two bytes, the sum twice in four.
  const BlockKernels sums = kernels(layer_of("gpt2", {.fp32_sums = true}), Fusion::framework);
  const Kernel& kernel = named(sums.backward_weight, "mlp.fc1.weight_gradient");
  CHECK(kernel.operands == Operands::tn_sum);
  CHECK(kernel.bytes.value == 2 * 1024 * (768 + 3072) + 8 * 768 * 3072);
  CHECK(named(sums.backward_input, "mlp.fc1.input_gradient").operands == Operands::nn);
  CHECK(named(sums.backward_input, "attention.scores.second_gradient").operands == Operands::tn);
}

TEST_CASE("a normalisation knows its rows, an element-wise kernel its elements") {
  const BlockKernels all = kernels(layer_of("gpt2"), Fusion::none);
  CHECK(named(all.forward, "attention.norm").elements == 1024 * 768);
  CHECK(named(all.forward, "attention.norm").columns == 768);
  CHECK(named(all.forward, "attention.softmax").columns == 1024);
  CHECK(named(all.forward, "mlp.activation").elements == 1024 * 3072);
  CHECK(named(all.forward, "mlp.activation").columns == 0);
}

TEST_CASE("a residual's backward is no kernel: the gradient passes on") {
  const BlockKernels all = kernels(layer_of("gpt2"), Fusion::none);
  for (const Kernel& k : all.backward_input) {
    CHECK(k.name.find("residual.backward") == std::string::npos);
    CHECK(k.name.find("_bias.backward") == std::string::npos);
  }
  // A bias's own gradient is a sum over the tokens.
  CHECK(named(all.backward_weight, "mlp.fc1_bias.weight_gradient").bytes.value ==
        4 * kStream + 2 * 3072);
}

TEST_CASE("a word lookup reads the rows of its tokens, not the vocabulary") {
  const BlockKernels all = kernels(block_of("gpt2", BlockKind::embedding), Fusion::none);
  CHECK(named(all.forward, "embedding.word").bytes.value == 2 * kStream + 8 * 1024);
  CHECK(named(all.forward, "embedding.word").flops.value == 0);
  // Gradient in; rows read, added to and written.
  CHECK(named(all.backward_weight, "embedding.word.weight_gradient").bytes.value ==
        3 * kStream + 8 * 1024);
}

TEST_CASE("a layer's backward contractions take twice the forward's") {
  for (const char* name : {"gpt2", "bert-large", "llama3-8b", "t5-small"}) {
    CAPTURE(name);
    const BlockKernels all = kernels(layer_of(name), Fusion::framework);
    const double forward = total_flops(all.forward, OpClass::contraction).value;
    const double backward = total_flops(all.backward_input, OpClass::contraction).value +
                            total_flops(all.backward_weight, OpClass::contraction).value;
    CHECK(backward == doctest::Approx(2 * forward).epsilon(1e-3));  // epilogues' biases
  }
}

TEST_CASE("pixels need no gradient") {
  const BlockKernels all = kernels(block_of("vit-b16", BlockKind::embedding), Fusion::none);
  for (const Kernel& k : all.backward_input) { CHECK(k.cls != OpClass::contraction); }
  CHECK(named(all.backward_weight, "embedding.patch.weight_gradient").flops ==
        named(all.forward, "embedding.patch").flops);
}

TEST_CASE("flash attention executes half of a causal square, and 2.5 times that backward") {
  const BlockKernels all = kernels(layer_of("gpt2", {.flash_attention = true}), Fusion::framework);
  const Kernel& forward = named(all.forward, "attention.flash");
  const double s = 1024;
  CHECK(forward.flops.value == doctest::Approx(4 * s * (s + 1) / 2 * 768));
  const Kernel& backward = named(all.backward_input, "attention.flash.backward");
  CHECK(backward.flops.value == doctest::Approx(2.5 * forward.flops.value));
  CHECK(forward.bytes.value == 4 * kStream + 4 * 12 * 1024);   // q, k, v, context, log-sum-exp
  CHECK(backward.bytes.value == 8 * kStream + 4 * 12 * 1024);  // and four gradients
  CHECK(forward.batch == 12);
}

TEST_CASE("contractions take 99.8 % of a BERT-large layer's FLOPs") {
  // [arXiv:2007.00072, table 1]: 8 samples of 512 tokens, ReLU; contractions 99.80 %,
  // normalisations 0.17 %, element-wise operators 0.03 %.
  ModelConfig config = *model_named("bert-large");
  config.activation = Activation::relu;
  const OpGraph layer = build_model(config, {.micro_batch = 8}).blocks.at(1).graph;
  const BlockKernels all = kernels(layer, Fusion::framework);
  const auto share = [&](OpClass cls) {
    double part = 0;
    double whole = 0;
    for (const auto* list : {&all.forward, &all.backward_input, &all.backward_weight}) {
      part += total_flops(*list, cls).value;
      for (const Kernel& k : *list) { whole += k.flops.value; }
    }
    return 100 * part / whole;
  };
  CHECK(std::abs(share(OpClass::contraction) - 99.80) < 0.03);
  CHECK(std::abs(share(OpClass::normalization) - 0.17) < 0.03);
  CHECK(std::abs(share(OpClass::elementwise) - 0.03) < 0.03);
}

TEST_CASE("full fusion moves about a fifth less than frameworks do in a BERT-large layer") {
  // [arXiv:2007.00072, abstract]: up to 22.91 % less data movement.
  const OpGraph layer = layer_of("bert-large", {.micro_batch = 8});
  const Work framework = work(layer, Fusion::framework);
  const Work full = work(layer, Fusion::full);
  const double saved = 1 - static_cast<double>(full.bytes) / static_cast<double>(framework.bytes);
  CHECK(saved > 0.15);
  CHECK(saved < 0.2291);
}
