#include <doctest/doctest.h>

#include <algorithm>

#include "models/registry.hpp"

using namespace tsim::models;

namespace {

ModelConfig good(const char* name) { return *model_named(name); }

/// The keys of all problems of `config`.
std::vector<std::string> keys(const ModelConfig& config) {
  std::vector<std::string> found;
  for (const ConfigProblem& p : problems(config)) { found.push_back(p.key); }
  return found;
}

using Keys = std::vector<std::string>;

}  // namespace

TEST_CASE("sizes that are not positive are all reported at once") {
  ModelConfig c = good("gpt2");
  c.layers = 0;
  c.hidden = -768;
  c.ffn = 0;
  CHECK(keys(c) == Keys{"layers", "hidden", "ffn"});
}

TEST_CASE("key and value heads divide the heads") {
  ModelConfig c = good("llama3-8b");
  c.kv_heads = 7;
  const auto found = problems(c);
  REQUIRE(found.size() == 1);
  CHECK(found[0].key == "kv_heads");
  CHECK(found[0].found == "7");
  CHECK(found[0].expected == "a divisor of heads = 32");
  c.kv_heads = 0;
  CHECK(keys(c) == Keys{"kv_heads"});
}

TEST_CASE("without a head width the heads divide the stream") {
  ModelConfig c = good("gpt2");
  c.heads = c.kv_heads = 10;  // 768 = 2^8 * 3
  c.head_dim = 0;
  const auto found = problems(c);
  REQUIRE(found.size() == 1);
  CHECK(found[0].key == "heads");
  CHECK(found[0].expected == "a divisor of hidden = 768");
}

TEST_CASE("heads may be wider together than the stream") {
  CHECK(problems(good("t5-11b")).empty());
}

TEST_CASE("rotary positions need an even head width") {
  ModelConfig c = good("llama2-7b");
  c.head_dim = 127;
  CHECK(keys(c) == Keys{"head_dim"});
}

TEST_CASE("patches divide the image") {
  ModelConfig c = good("vit-b16");
  c.patch = 15;
  const auto found = problems(c);
  REQUIRE(found.size() == 1);
  CHECK(found[0].key == "patch");
  CHECK(found[0].expected == "a divisor of image = 224");
}

TEST_CASE("a vision model's positions are its patches and the class token") {
  ModelConfig c = good("vit-b16");
  c.max_positions = 196;
  c.sequence = 196;
  const auto found = problems(c);
  REQUIRE(found.size() == 2);
  CHECK(found[0].expected == "197");
  CHECK(found[1].expected == "197");
}

TEST_CASE("a vision model has no vocabulary and a language model no pixels") {
  ModelConfig vision = good("vit-b16");
  vision.vocab = 30522;
  vision.head = true;
  CHECK(keys(vision) == Keys{"vocab", "head"});
  ModelConfig language = good("bert-base");
  language.image = 224;
  language.patch = 16;
  CHECK(keys(language) == Keys{"image", "patch"});
}

TEST_CASE("a sequence fits a learned table of positions") {
  ModelConfig c = good("bert-base");
  c.sequence = 513;
  const auto found = problems(c);
  REQUIRE(found.size() == 1);
  CHECK(found[0].key == "sequence");
  CHECK(found[0].found == "513");
}

TEST_CASE("only an encoder-decoder has decoder layers, and it has some") {
  ModelConfig c = good("gpt2");
  c.decoder_layers = 2;
  CHECK(keys(c) == Keys{"decoder_layers"});
  ModelConfig t5 = good("t5-small");
  t5.decoder_layers = 0;
  CHECK(keys(t5) == Keys{"decoder_layers"});
}

TEST_CASE("relative positions and buckets come together") {
  ModelConfig t5 = good("t5-small");
  t5.relative_buckets = 0;
  CHECK(keys(t5) == Keys{"relative_buckets"});
  ModelConfig c = good("gpt2");
  c.relative_buckets = 32;
  CHECK(keys(c) == Keys{"relative_buckets"});
}

TEST_CASE("a dropout is a probability below one") {
  ModelConfig c = good("gpt2");
  c.dropout = 1.0;
  c.attention_dropout = -0.1;
  CHECK(keys(c) == Keys{"dropout", "attention_dropout"});
}

TEST_CASE("only a decoder has a query layer") {
  ModelConfig c = good("bert-base");
  c.query_layer = true;
  CHECK(keys(c) == Keys{"query_layer"});
}

TEST_CASE("sizes beyond any model are refused before their products overflow") {
  ModelConfig c = good("gpt2");
  c.hidden = std::int64_t{1} << 40;
  CHECK(keys(c) == Keys{"hidden"});
}
