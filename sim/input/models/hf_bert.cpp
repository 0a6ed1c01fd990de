// Encoders: BERT, RoBERTa and the vision Transformer.
#include <algorithm>

#include "sim/input/models/hf_common.hpp"
#include "sim/input/models/hf_readers.hpp"
#include "sim/input/models/read_model_fields.hpp"
#include "sim/input/read_model.hpp"

namespace tsim::sim::hf {

using models::ModelConfig;

ModelConfig read_bert(Reader& in) {
  ModelConfig m = read_common(in, {30522, 768, 12, 12, 12, 3072, 512});
  m.family = models::Family::encoder;
  m.norm_place = models::NormPlace::post;
  m.activation = read_activation(in, "hidden_act", "gelu", false);
  m.types = read_count(in.take("type_vocab_size"), {0, 10'000}, 2);
  m.dropout = read_real(in.take("hidden_dropout_prob"), kProbability, 0.1);
  m.attention_dropout = read_real(in.take("attention_probs_dropout_prob"), kProbability, 0.1);
  m.embedding_norm = true;
  m.final_norm = false;
  m.pooler = true;
  // As published counts do, without the transform and bias of the pre-training head; a scenario
  // may set head_transform and head_bias.
  if (architecture_has(in, "ForSequenceClassification")) {
    m.head = false;
    m.classes = read_labels(in);
  }
  return m;
}

/// RoBERTa is BERT with one token type; its position table starts at the padding index + 1.
ModelConfig read_roberta(Reader& in) {
  ModelConfig m = read_bert(in);
  if (!in.take("vocab_size").present()) { m.vocab = 50265; }
  m.sequence = std::max<std::int64_t>(1, m.max_positions - 2);
  return m;
}

ModelConfig read_vit(Reader& in) {
  ModelConfig m = read_common(in, {1, 768, 12, 12, 12, 3072, 1});
  m.family = models::Family::vision;
  m.vocab = 0;
  m.activation = read_activation(in, "hidden_act", "gelu", false);
  m.image = read_count(in.take("image_size"), limits::kPixels, 224);
  m.patch = read_count(in.take("patch_size"), limits::kPixels, 16);
  m.channels = read_count(in.take("num_channels"), limits::kChannels, 3);
  m.qkv_bias = read_flag(in.take("qkv_bias"), true);
  m.dropout = read_real(in.take("hidden_dropout_prob"), kProbability, 0.0);
  m.attention_dropout = read_real(in.take("attention_probs_dropout_prob"), kProbability, 0.0);
  m.head = false;
  m.tied_embedding = false;
  if (architecture_has(in, "ForImageClassification")) { m.classes = read_labels(in); }
  set_patches(m);
  return m;
}

}  // namespace tsim::sim::hf
