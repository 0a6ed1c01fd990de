#include "models/model.hpp"

#include <algorithm>
#include <utility>

#include "models/block_builder.hpp"

namespace tsim::models {
namespace {

/// Tokens of the main stream; patches and the class token of a vision model.
std::int64_t main_sequence(const ModelConfig& c, const BuildOptions& o) {
  if (c.family == Family::vision) {
    const std::int64_t side = c.image / c.patch;
    return side * side + 1;
  }
  return o.sequence > 0 ? o.sequence : c.sequence;
}

class ModelBuilder {
 public:
  ModelBuilder(const ModelConfig& config, const BuildOptions& options)
      : model_{.config = config, .options = options, .blocks = {}} {}

  Model build() && {
    const ModelConfig& c = model_.config;
    const BuildOptions& o = model_.options;
    const std::int64_t sequence = main_sequence(c, o);
    add(BlockKind::embedding, "embedding", 1,
        c.family == Family::vision ? patch_embedding(block(sequence))
                                   : token_embedding(block(sequence)));
    if (c.family != Family::encoder_decoder) {
      add_layers(BlockKind::layer, c.family == Family::decoder ? "decoder" : "encoder", c.layers,
                 block(sequence), {.causal = c.causal});
      add(BlockKind::head, "head", 1, head(block(sequence)));
      return std::move(model_);
    }
    const std::int64_t target = o.decoder_sequence > 0 ? o.decoder_sequence : sequence;
    add_layers(BlockKind::layer, "encoder", c.layers, block(sequence), {});
    add(BlockKind::decoder_embedding, "decoder embedding", 1,
        decoder_embedding(block(target, sequence)));
    add_layers(BlockKind::decoder_layer, "decoder", c.decoder_layers, block(target, sequence),
               {.causal = c.causal, .cross_attention = true});
    add(BlockKind::head, "head", 1, head(block(target)));
    return std::move(model_);
  }

 private:
  BlockBuilder block(std::int64_t sequence, std::int64_t memory_sequence = 0) const {
    return {.config = model_.config,
            .options = model_.options,
            .sequence = sequence,
            .memory_sequence = memory_sequence,
            .graph = {}};
  }

  void add(BlockKind kind, std::string name, int count, OpGraph graph) {
    if (count > 0) { model_.blocks.push_back({kind, std::move(name), count, std::move(graph)}); }
  }

  /// `count` layers. The first of a stack holds T5's table; PanGu-alpha's last one has queries of
  /// its own and counts among its layers.
  void add_layers(BlockKind kind, const std::string& stack, int count, const BlockBuilder& b,
                  LayerSpec spec) {
    if (b.config.positions == Positions::relative) {
      spec.position_table = true;
      add(kind, stack + " first layer", 1, layer(b, spec));
      spec.position_table = false;
      --count;
    }
    if (b.config.query_layer) { --count; }
    add(kind, stack + " layer", count, layer(b, spec));
    if (b.config.query_layer) {
      spec.query = true;
      add(kind, "query layer", 1, layer(b, spec));
    }
  }

  Model model_;
};

/// Whether the vocabulary's table appears in `graph`, and its elements.
std::int64_t word_table(const OpGraph& graph) {
  const auto it = std::find_if(graph.tensors.begin(), graph.tensors.end(), [](const Tensor& t) {
    return t.role == Role::weight && t.name == "embedding.word";
  });
  return it == graph.tensors.end() ? 0 : elements(it->shape);
}

}  // namespace

Model build_model(const ModelConfig& config, const BuildOptions& options) {
  return ModelBuilder(config, options).build();
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

Flops forward_model_flops(const Model& model) {
  Flops sum;
  for (const Block& block : model.blocks) {
    for (const Op& op : block.graph.ops) {
      if (op.cls == OpClass::contraction) { sum += block.count * model_flops(op); }
    }
  }
  return sum;
}

std::int64_t tokens_per_sample(const Model& model) {
  return main_sequence(model.config, model.options);
}

}  // namespace tsim::models
