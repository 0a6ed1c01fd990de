// A model: its dimensions, and the chain of blocks that they give for one micro-batch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/kept_format.hpp"
#include "models/lora_config.hpp"
#include "models/moe_config.hpp"
#include "models/op_graph.hpp"

namespace tsim::models {

enum class Family : std::uint8_t { encoder, decoder, encoder_decoder, vision };
enum class Norm : std::uint8_t { layer_norm, rms_norm };
enum class NormPlace : std::uint8_t { pre, post };
enum class Activation : std::uint8_t { gelu, relu, swiglu, geglu };
enum class Positions : std::uint8_t { learned, rotary, sinusoidal, relative, none };
std::string_view name_of(Family family);
std::string_view name_of(Norm norm);
std::string_view name_of(NormPlace place);
std::string_view name_of(Activation activation);
std::string_view name_of(Positions positions);

/// Layers of a vision model that have a width of their own; each stage but the first begins by
/// merging squares of four tokens   [arXiv:2103.14030, sec. 3.1]
struct VisionStage {
  int layers = 0;
  std::int64_t hidden = 0, heads = 0, ffn = 0;  // ffn: of a dense MLP, and of one expert
  bool operator==(const VisionStage&) const = default;
};

/// Dimensions of a Transformer. Every family is a setting of these; names follow the papers.
struct ModelConfig {
  std::string name;
  Family family = Family::decoder;
  int layers = 0;          // encoder layers of an encoder-decoder
  int decoder_layers = 0;  // of an encoder-decoder only
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;  // = heads unless grouped-query attention
  std::int64_t head_dim = 0;  // usually hidden / heads
  std::int64_t ffn = 0;
  std::int64_t vocab = 0;          // 0 for a vision model
  std::int64_t max_positions = 0;  // rows of a learned position table
  std::int64_t sequence = 0;       // default sequence length in training
  Norm norm = Norm::layer_norm;
  NormPlace norm_place = NormPlace::pre;
  Activation activation = Activation::gelu;
  Positions positions = Positions::learned;
  bool bias = true;                // of the projections of a layer
  bool qkv_bias = true;            // of the query/key/value projection
  bool causal = false;             // of the (decoder's) self-attention
  bool parallel_residual = false;  // attention and MLP both read the layer's input, each through a
                                   // norm of its own (GPT-NeoX)
  bool final_norm = true;          // a norm after the last layer
  bool tied_embedding = true;      // the head uses the embedding's weight
  bool head = true;                // has a projection to the vocabulary (language-model head)
  bool head_transform = false;     // BERT's dense+norm before the vocabulary projection
  bool head_bias = false;          // a bias of the vocabulary (or class) projection
  bool pooler = false;             // BERT's pooled output
  bool embedding_norm = false;     // a norm after the embeddings (BERT, BLOOM)
  bool qk_norm = false;            // norms of queries and keys (Qwen3)
  bool query_layer = false;        // PanGu-alpha: the last of `layers` has positions as queries
  std::int64_t types = 0;          // BERT's token types
  std::int64_t relative_buckets = 0;                // T5
  std::int64_t image = 0, patch = 0, channels = 0;  // a vision model: pixels, pixels, planes
  std::vector<VisionStage> stages = {};  // of a vision model; layers is their sum, hidden, heads
                                         // and ffn are the first one's
  std::int64_t window = 0;               // side of the squares of tokens that attend to each other;
                                         // every layer then has relative positions of its own
  std::int64_t position_mlp = 0;         // columns of the MLP that makes them; 0: a table
  std::int64_t classes = 0;              // of a classification head
  double dropout = 0.0;                  // probability; 0 means that no mask exists
  double attention_dropout = 0.0;        // the same, on the attention's probabilities
  MoeConfig moe = {};                    // mixture of experts
  LatentAttention latent = {};           // DeepSeek's attention; head_dim is then nope + rope
  int mtp_layers = 0;    // multi-token prediction modules [arXiv:2412.19437, sec. 2.2]
  LoraConfig lora = {};  // low-rank adapters
  std::string source;    // where the dimensions come from
  bool operator==(const ModelConfig&) const = default;
};

/// How one micro-batch runs.
struct BuildOptions {
  std::int64_t micro_batch = 1;
  std::int64_t sequence = 0;          // 0: the model's default; a vision model's own always
  std::int64_t decoder_sequence = 0;  // 0: the same as `sequence`
  std::int64_t prefix = 0;  // tokens of the same sample that causal attention looks back at
  std::int64_t sample = 0;  // tokens of the whole sample; 0: prefix and sequence. Model FLOPs of
                            // attention count all of them as keys, as papers do for whole samples
  DType compute = DType::fp16;
  bool flash_attention = false;
  bool dropout = true;  // false: as if the probabilities were 0
  bool loss = true;     // false: forward-only, no labels
  /// Products add the gradients of weights to sums in fp32 that are kept for all micro-batches, as
  /// Megatron-LM's fused accumulation does.
  bool fp32_sums = false;
  /// Rows of an expert's buffer over the mean [arXiv:2006.16668, sec. 2.2]; the buffer is computed
  /// whole. 0: dropless, every expert computes the rows that it gets.
  double capacity_factor = 0;
  /// Without a capacity: rows of the experts over the mean, for a rank whose experts get more.
  double expert_load = 1;
  /// Routed rows are scaled by their probabilities before the experts' second product, not when
  /// they are added up: then the results need not be kept.
  bool scales_early = false;
  std::vector<KeptFormat> kept = {};  // what waits for the backward in another format
};

enum class BlockKind : std::uint8_t { embedding, layer, decoder_layer, decoder_embedding, head };
std::string_view name_of(BlockKind kind);

struct Block {
  BlockKind kind{};
  std::string name;  // "encoder layer"
  int count = 1;     // consecutive copies
  OpGraph graph;
};

/// The chain of blocks in execution order. A head that is tied to the embedding's weight lists that
/// weight with role Role::weight in its graph, named "embedding.word" as the embedding does; it
/// counts once in the model and once on every device that holds a copy.
struct Model {
  ModelConfig config;
  BuildOptions options;
  std::vector<Block> blocks;
};

/// Blocks for `config`; the operators carry real sizes for options.micro_batch sequences.
/// options.sequence >= 1 or 0.
Model build_model(const ModelConfig& config, const BuildOptions& options);

/// Parameters of the whole model, tied weights once, and those of them that are trained: all unless
/// there are adapters.
std::int64_t parameters(const ModelConfig& config);
std::int64_t trained_parameters(const ModelConfig& config);

/// Those that one token meets: of the routed experts top_k.
std::int64_t active_parameters(const ModelConfig& config);

/// Routed experts of every layer, the encoder's layers before the decoder's; 0 for a dense layer.
std::vector<std::int64_t> layer_experts(const ModelConfig& config);

/// FLOPs of one forward pass of one micro-batch, contractions only, as papers count them
/// [arXiv:2104.04473, eq. 3]. Of routed experts, the rows that tokens x top_k give, whatever a
/// capacity pads or drops.
Flops forward_model_flops(const Model& model);

/// Of a training step of one micro-batch: three times the forward's, twice for the products of a
/// frozen weight, whose gradient is not made.
Flops training_model_flops(const Model& model);

/// Tokens that a vision model's image becomes: its patches, and a class token unless it has stages.
std::int64_t image_tokens(const ModelConfig& config);

/// `config` as the layers of one of its stages see it.
ModelConfig at_stage(const ModelConfig& config, const VisionStage& stage);

/// Tokens (patches and class token of a vision model) of one sample of the model's main sequence.
std::int64_t tokens_per_sample(const Model& model);

/// Everything about `config` that cannot be: each as {JSON key, found, expected}.
struct ConfigProblem {
  std::string key, found, expected, hint;
};
std::vector<ConfigProblem> problems(const ModelConfig& config);

}  // namespace tsim::models
