#include "models/model.hpp"

#include <algorithm>
#include <utility>

#include "models/adapters.hpp"

namespace tsim::models {
namespace {

/// Tokens of the main stream; patches and the class token of a vision model.
std::int64_t main_sequence(const ModelConfig& c, const BuildOptions& o) {
  if (c.family == Family::vision) { return image_tokens(c); }
  return o.sequence > 0 ? o.sequence : c.sequence;
}

class ModelBuilder {
 public:
  ModelBuilder(const ModelConfig& config, const BuildOptions& options)
      : experts_(layer_experts(config)),
        model_{.config = config, .options = options, .blocks = {}} {}

  Model build() && {
    const ModelConfig& c = model_.config;
    const BuildOptions& o = model_.options;
    const std::int64_t sequence = main_sequence(c, o);
    add(BlockKind::embedding, "embedding", 1,
        c.family == Family::vision ? patch_embedding(block(sequence))
                                   : token_embedding(block(sequence)));
    if (!c.stages.empty()) {
      add_stages(sequence);
      return std::move(model_);
    }
    if (c.family != Family::encoder_decoder) {
      const char* const stack = c.family == Family::decoder ? "decoder" : "encoder";
      add_layers({BlockKind::layer, stack, 0, c.layers}, block(sequence), {.causal = c.causal});
      add(BlockKind::head, "head", 1, head(block(sequence)));
      return std::move(model_);
    }
    const std::int64_t target = o.decoder_sequence > 0 ? o.decoder_sequence : sequence;
    add_layers({BlockKind::layer, "encoder", 0, c.layers}, block(sequence), {});
    add(BlockKind::decoder_embedding, "decoder embedding", 1,
        decoder_embedding(block(target, sequence)));
    add_layers({BlockKind::decoder_layer, "decoder", c.layers, c.decoder_layers},
               block(target, sequence), {.causal = c.causal, .cross_attention = true});
    add(BlockKind::head, "head", 1, head(block(target)));
    return std::move(model_);
  }

 private:
  BlockBuilder block(std::int64_t sequence, std::int64_t memory_sequence = 0) const {
    BlockBuilder builder{.config = model_.config,
                         .options = model_.options,
                         .sequence = sequence,
                         .memory_sequence = memory_sequence,
                         .graph = {}};
    builder.graph.fp32_sums = model_.options.fp32_sums;
    return builder;
  }

  void add(BlockKind kind, std::string name, int count, OpGraph graph) {
    if (count == 0) { return; }
    const bool layer = kind == BlockKind::layer || kind == BlockKind::decoder_layer;
    if (model_.config.lora.rank > 0) { graph = freeze(std::move(graph)); }
    if (layer) { graph = keep_in_formats(std::move(graph), model_.options.kept); }
    model_.blocks.push_back({kind, std::move(name), count, std::move(graph)});
  }

  std::int64_t experts_of(int layer) const { return experts_[static_cast<std::size_t>(layer)]; }

  struct Stack {
    BlockKind kind{};
    std::string name;
    int first = 0, count = 0;  // among all layers of the model
  };

  /// Consecutive layers that are alike as one block. The first of a stack holds T5's table;
  /// PanGu-alpha's last one has queries of its own and counts among its layers.
  void add_layers(const Stack& stack, const BlockBuilder& b, LayerSpec spec) {
    const bool tables = b.config.positions == Positions::relative;
    const int last = stack.first + stack.count - 1;
    for (int i = stack.first; i <= last;) {
      spec.position_table = tables && i == stack.first;
      spec.query = b.config.query_layer && i == last;
      spec.experts = experts_of(i);
      int alike = 1;
      while (!spec.position_table && i + alike <= last - (b.config.query_layer ? 1 : 0) &&
             experts_of(i + alike) == spec.experts) {
        ++alike;
      }
      add(stack.kind, name_of_layers(stack.name, spec), alike, layer(b, spec));
      i += alike;
    }
  }

  /// Stages one after another, each with a quarter of the tokens of the one before, and the head.
  void add_stages(std::int64_t tokens) {
    const std::vector<VisionStage>& stages = model_.config.stages;
    int layer = 0;
    for (std::size_t i = 0; i < stages.size(); ++i, tokens /= 4) {
      const ModelConfig config = at_stage(model_.config, stages[i]);
      const BlockBuilder b{.config = config,
                           .options = model_.options,
                           .sequence = tokens,
                           .memory_sequence = 0,
                           .graph = {}};
      add_stage(b, "stage " + std::to_string(i + 1), layer, i > 0 ? stages[i - 1].hidden : 0);
      layer += stages[i].layers;
      if (i + 1 == stages.size()) { add(BlockKind::head, "head", 1, head(b)); }
    }
  }

  void add_stage(const BlockBuilder& b, const std::string& name, int first, std::int64_t merges) {
    const int end = first + b.config.layers;
    for (int i = first; i < end;) {
      LayerSpec spec;
      spec.merges = i == first ? merges : 0;
      spec.experts = experts_of(i);
      int alike = 1;
      while (spec.merges == 0 && i + alike < end && experts_of(i + alike) == spec.experts) {
        ++alike;
      }
      add(BlockKind::layer, name + (spec.experts > 0 ? " MoE layer" : " layer"), alike,
          tsim::models::layer(b, spec));
      i += alike;
    }
  }

  std::string name_of_layers(const std::string& stack, const LayerSpec& spec) const {
    if (spec.query) { return "query layer"; }
    if (spec.position_table) { return stack + " first layer"; }
    if (model_.config.moe.experts == 0) { return stack + " layer"; }
    const bool two_stacks = model_.config.family == Family::encoder_decoder;
    return (two_stacks ? stack + " " : "") + (spec.experts > 0 ? "MoE layer" : "dense layer");
  }

  std::vector<std::int64_t> experts_;  // by layer
  Model model_;
};

/// Elements of `t` that one token meets.
std::int64_t active_elements(const Tensor& t, const MoeConfig& moe) {
  const auto expert = std::find_if(t.shape.begin(), t.shape.end(),
                                   [](const Dim& d) { return d.axis == Axis::expert; });
  const std::int64_t all = elements(t.shape);
  return expert == t.shape.end() ? all : all / expert->size * std::min(moe.top_k, expert->size);
}

/// Whether layer `i` of a stack has experts.
bool is_moe_layer(const MoeConfig& moe, int i) {
  if (moe.experts == 0) { return false; }
  if (!moe.layers.empty()) {
    return std::find(moe.layers.begin(), moe.layers.end(), i) != moe.layers.end();
  }
  return i >= moe.first_dense && (i - moe.first_dense) % std::max(1, moe.every) == moe.offset;
}

bool is_word_table(const Tensor& t) { return t.role == Role::weight && t.name == "embedding.word"; }

/// Elements of the vocabulary's table if it appears in `graph`.
std::int64_t word_table(const OpGraph& graph) {
  const auto it = std::find_if(graph.tensors.begin(), graph.tensors.end(), is_word_table);
  return it == graph.tensors.end() ? 0 : elements(it->shape);
}

/// Whether the operator is a product with a weight that is not trained.
bool is_frozen_product(const OpGraph& graph, const Op& op) {
  return is_weight_product(op.kind) &&
         graph.tensors[static_cast<std::size_t>(op.weights.front().tensor)].frozen;
}

}  // namespace

std::int64_t image_tokens(const ModelConfig& config) {
  const std::int64_t side = config.image / std::max<std::int64_t>(1, config.patch);
  return side * side + (config.stages.empty() ? 1 : 0);
}

ModelConfig at_stage(const ModelConfig& config, const VisionStage& stage) {
  ModelConfig c = config;
  c.layers = stage.layers;
  c.hidden = stage.hidden;
  c.heads = c.kv_heads = stage.heads;
  c.head_dim = stage.hidden / stage.heads;
  c.ffn = c.moe.ffn = stage.ffn;
  return c;
}

Model build_model(const ModelConfig& config, const BuildOptions& options) {
  return ModelBuilder(config, options).build();
}

std::vector<std::int64_t> layer_experts(const ModelConfig& config) {
  const MoeConfig& moe = config.moe;
  std::vector<std::int64_t> experts;
  std::size_t moe_layers = 0;
  for (const int layers : {config.layers, config.decoder_layers}) {
    for (int i = 0; i < layers; ++i) {
      const bool routed = is_moe_layer(moe, i);
      const bool own = moe_layers < moe.experts_by_layer.size();
      const std::int64_t here = own ? moe.experts_by_layer[moe_layers] : moe.experts;
      experts.push_back(routed ? here : 0);
      moe_layers += routed ? 1 : 0;
    }
  }
  return experts;
}

std::int64_t parameters(const ModelConfig& config) {
  std::int64_t sum = 0;
  std::int64_t words = 0;  // counted once however many blocks list it
  for (const Block& block : build_model(config, {}).blocks) {
    const std::int64_t table = word_table(block.graph);
    sum += block.count * (parameters(block.graph) - table);
    words = std::max(words, table);
  }
  return sum + words;
}

std::int64_t trained_parameters(const ModelConfig& config) {
  if (config.lora.rank == 0) { return parameters(config); }
  std::int64_t sum = 0;  // tied weights are none of them
  for (const Block& block : build_model(config, {}).blocks) {
    sum += block.count * trained_parameters(block.graph);
  }
  return sum;
}

std::int64_t active_parameters(const ModelConfig& config) {
  std::int64_t idle = 0;
  for (const Block& block : build_model(config, {}).blocks) {
    for (const Tensor& t : block.graph.tensors) {
      if (t.role != Role::weight) { continue; }
      idle += block.count * (elements(t.shape) - active_elements(t, config.moe));
    }
  }
  return parameters(config) - idle;
}

Flops forward_model_flops(const Model& model) {
  Flops sum;
  for (const Block& block : model.blocks) {
    for (const Op& op : block.graph.ops) {
      if (op.cls == OpClass::contraction) { sum += block.count * model_flops(op); }
    }
  }
  return sum;
}

Flops training_model_flops(const Model& model) {
  Flops spared;
  for (const Block& block : model.blocks) {
    for (const Op& op : block.graph.ops) {
      if (is_frozen_product(block.graph, op)) { spared += block.count * model_flops(op); }
    }
  }
  return 3.0 * forward_model_flops(model) - spared;
}

std::int64_t tokens_per_sample(const Model& model) {
  return main_sequence(model.config, model.options);
}

}  // namespace tsim::models
