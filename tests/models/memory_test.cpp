// Activations kept for the backward, against the counts of [arXiv:2205.05198, sec. 4].
#include <doctest/doctest.h>

#include <algorithm>

#include "models/kernel.hpp"
#include "models/registry.hpp"

using namespace tsim;
using namespace tsim::models;

namespace {

const Block& block_of(const Model& model, BlockKind kind) {
  const auto it = std::find_if(model.blocks.begin(), model.blocks.end(),
                               [kind](const Block& b) { return b.kind == kind; });
  REQUIRE(it != model.blocks.end());
  return *it;
}

/// Bytes of a layer's saved tensors without statistics.
std::int64_t kept(const OpGraph& graph, Fusion fusion = Fusion::none) {
  Bytes sum;
  for (const TensorId t : saved_tensors(graph, fusion)) {
    const Tensor& tensor = graph.tensors[static_cast<std::size_t>(t)];
    if (tensor.role != Role::statistic) { sum += size_of(tensor); }
  }
  return sum.value;
}

OpGraph layer_of(const ModelConfig& config, const BuildOptions& options = {}) {
  return block_of(build_model(config, options), BlockKind::layer).graph;
}

/// s b h, and s b h times a s / h.
struct Units {
  std::int64_t stream, scores;
};
Units units(const ModelConfig& c, std::int64_t b) {
  return {c.sequence * b * c.hidden, c.sequence * b * c.heads * c.sequence};
}

constexpr const char* kFormulaModels[] = {"gpt-22b", "gpt3-175b", "megatron-529.6b", "megatron-1t",
                                          "gpt2",    "bert-base", "bert-large"};

}  // namespace

TEST_CASE("a layer keeps s b h (34 + 5 a s / h) bytes in 16 bits with dropout") {
  for (const char* name : kFormulaModels) {
    CAPTURE(name);
    const ModelConfig config = *model_named(name);
    for (const std::int64_t b : {1, 4}) {
      const OpGraph layer = layer_of(config, {.micro_batch = b});
      const Units u = units(config, b);
      const std::int64_t formula = 34 * u.stream + 5 * u.scores;
      CHECK(kept(layer) == formula);
      CHECK(kept(layer, Fusion::framework) == formula);
      CHECK(to_double(saved_bytes(layer)) ==
            doctest::Approx(static_cast<double>(formula)).epsilon(0.01));
    }
  }
}

TEST_CASE("GPT 22B's layers keep 8 x 59.25 GiB less what tensor parallelism does not split") {
  // Fig. 1 of the paper: 59.25 GiB a GPU at t = 8, b = 4 is s b h L (10 + 24/t + 5 a s/(h t)).
  const ModelConfig config = *model_named("gpt-22b");
  const double whole = static_cast<double>(kept(layer_of(config, {.micro_batch = 4}))) * 48;
  const double unsplit = 10.0 * 2048 * 4 * 6144 * 48;
  const double gib = 1024.0 * 1024 * 1024;
  CHECK((unsplit + (whole - unsplit) / 8) / gib == doctest::Approx(59.25));
}

TEST_CASE("without dropout no mask is kept and one copy of the probabilities") {
  // 34 less two masks of one byte; 2 a s/h for the softmax's output, which the weighted sum reads.
  for (const char* name : kFormulaModels) {
    CAPTURE(name);
    const ModelConfig config = *model_named(name);
    const Units u = units(config, 2);
    const OpGraph layer = layer_of(config, {.micro_batch = 2, .dropout = false});
    CHECK(kept(layer) == 32 * u.stream + 2 * u.scores);
    for (const Tensor& t : layer.tensors) { CHECK(t.role != Role::mask); }
  }
}

TEST_CASE("a flash attention drops the term in a s / h and keeps one number per row and head") {
  for (const char* name : kFormulaModels) {
    CAPTURE(name);
    const ModelConfig config = *model_named(name);
    const Units u = units(config, 2);
    const OpGraph layer = layer_of(config, {.micro_batch = 2, .flash_attention = true});
    CHECK(kept(layer) == 34 * u.stream);
    // Two layer norms keep a mean and a reciprocal deviation, the attention its log-sum-exp.
    const std::int64_t rows = config.sequence * 2;
    CHECK(saved_bytes(layer).value - kept(layer) == rows * 4 * (2 * 2 + config.heads));
  }
}

TEST_CASE("fp32 doubles everything but the masks") {
  // Values 32 -> 64 and masks 2; probabilities 4 -> 8 and their mask 1.
  const ModelConfig config = *model_named("gpt-22b");
  const Units u = units(config, 1);
  CHECK(kept(layer_of(config, {.compute = DType::fp32})) == 66 * u.stream + 9 * u.scores);
}

TEST_CASE("full fusion draws every mask again from its seed") {
  for (const char* name : {"gpt-22b", "bert-large"}) {
    CAPTURE(name);
    const ModelConfig config = *model_named(name);
    const Units u = units(config, 1);
    CHECK(kept(layer_of(config), Fusion::full) == 32 * u.stream + 4 * u.scores);
  }
}

TEST_CASE("a ReLU keeps only its result, which the next product keeps anyway") {
  ModelConfig config = *model_named("gpt-22b");
  config.activation = Activation::relu;
  const Units u = units(config, 1);
  CHECK(kept(layer_of(config)) == 26 * u.stream + 5 * u.scores);
}

TEST_CASE("a Llama layer with flash attention keeps what its shapes say") {
  // Per token: norm inputs 2 + 2, qkv and fc1 inputs 2 + 2, context 2 bytes per hidden; queries,
  // keys and values once, after the rotation; gate and value columns, and their product.
  for (const char* name : {"llama2-7b", "llama2-70b", "llama3-8b", "mistral-7b"}) {
    CAPTURE(name);
    const ModelConfig c = *model_named(name);
    const std::int64_t qkv = (c.heads + 2 * c.kv_heads) * c.head_dim;
    const std::int64_t per_token = 10 * c.hidden + 2 * qkv + 2 * (2 * c.ffn + c.ffn);
    CHECK(kept(layer_of(c, {.flash_attention = true})) == c.sequence * per_token);
  }
}

TEST_CASE("the head keeps 4 s b h (1 + V/h) bytes and the labels") {
  // [arXiv:2205.05198, sec. 4.3]: inputs of the norm and of the projection, logits in fp32.
  const ModelConfig c = *model_named("gpt-22b");
  const OpGraph head = block_of(build_model(c, {}), BlockKind::head).graph;
  CHECK(kept(head) == 4 * c.sequence * (c.hidden + c.vocab) + 8 * c.sequence);
}

TEST_CASE("GPT-2 large's fp32 logits of 4 x 1024 tokens take 786 MiB") {
  ModelConfig c = *model_named("gpt2-large");
  c.vocab = 50304;
  const OpGraph head = block_of(build_model(c, {.micro_batch = 4}), BlockKind::head).graph;
  const auto it = std::find_if(head.tensors.begin(), head.tensors.end(),
                               [](const Tensor& t) { return t.name == "loss.probabilities"; });
  REQUIRE(it != head.tensors.end());
  CHECK(size_of(*it) == Bytes{786 * 1024 * 1024});
}

TEST_CASE("the embedding keeps its dropout's mask and the ids") {
  const ModelConfig c = *model_named("gpt2");
  const OpGraph graph = block_of(build_model(c, {}), BlockKind::embedding).graph;
  CHECK(saved_bytes(graph).value == c.sequence * (c.hidden + 8));
}

TEST_CASE("the encoder's output is kept once, by the block that hands it to the decoder") {
  const ModelConfig c = *model_named("transformer-big");
  const Model model = build_model(c, {.micro_batch = 2, .sequence = 100, .decoder_sequence = 60});
  const OpGraph& handing = block_of(model, BlockKind::decoder_embedding).graph;
  const OpGraph& layer = block_of(model, BlockKind::decoder_layer).graph;
  const auto saved_by = [](const OpGraph& g) { return saved_tensors(g); };
  CHECK(std::ranges::count(saved_by(handing), handing.memory) == 1);
  CHECK(std::ranges::count(saved_by(layer), layer.memory) == 0);
  CHECK(elements(layer.tensors[static_cast<std::size_t>(layer.memory)].shape) == 2 * 100 * 1024);
}

TEST_CASE("a forward-only head ends in logits") {
  const OpGraph head =
      block_of(build_model(*model_named("gpt2"), {.loss = false}), BlockKind::head).graph;
  REQUIRE(head.output >= 0);
  const Tensor& out = head.tensors[static_cast<std::size_t>(head.output)];
  CHECK(to_string(out.shape) == "[batch 1, sequence 1024, vocab 50257]");
}
