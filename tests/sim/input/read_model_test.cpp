#include "sim/input/read_model.hpp"

#include <doctest/doctest.h>

#include "models/registry.hpp"
#include "tests/sim/input/inputs.hpp"

using namespace tsim;
using namespace tsim::sim;

namespace {

const std::string kFolder = std::string(TSIM_SOURCE_DIR) + "/tests/sim/input/data";

struct Read {
  models::ModelConfig model;
  Texts problems;
};
Read read(const std::string& text) {
  Problems problems;
  const Source source{.problems = &problems};
  const Json json = Json::parse(text);
  Read result{read_model(Place{&json, "/model", &source}, kFolder), {}};
  for (const InputError& error : problems.errors()) { result.problems.push_back(to_text(error)); }
  return result;
}

}  // namespace

TEST_CASE("a model is found by its name") {
  CHECK(read("\"gpt3-175b\"").model == *models::model_named("gpt3-175b"));
}

TEST_CASE("an unknown name is refused with the nearest one") {
  CHECK(read("\"gpt3-175\"").problems ==
        Texts{"/model: found \"gpt3-175\", expected a model's name (tsim models lists them) or the "
              "path of a file; hint: did you mean \"gpt3-175b\"?"});
  CHECK(read("\"no/config.json\"").problems ==
        Texts{"/model: found \"no/config.json\", expected the path of a Hugging Face config.json; "
              "hint: no such file"});
  CHECK(read("\"\"").problems == Texts{"/model: found an empty text, expected a text"});
}

TEST_CASE("an inline decoder needs five keys, and the rest follows") {
  const Read r = read(R"({"family": "decoder", "layers": 12, "hidden": 768, "heads": 12,
                          "vocab": 50257, "sequence": 1024})");
  CHECK(r.problems == Texts{});
  const models::ModelConfig& m = r.model;
  CHECK(m.ffn == 4 * 768);
  CHECK(m.kv_heads == 12);
  CHECK(m.head_dim == 64);
  CHECK(m.max_positions == 1024);
  CHECK(m.causal);
  CHECK(m.tied_embedding);
  CHECK(m.dropout == 0.0);
  CHECK(models::parameters(m) == 124'439'808);  // GPT-2, as published
}

TEST_CASE("an inline encoder-decoder has as many decoder layers as encoder layers") {
  const Read r = read(R"({"family": "encoder_decoder", "layers": 6, "hidden": 512, "heads": 8,
                          "vocab": 37000, "sequence": 256, "positions": "sinusoidal"})");
  CHECK(r.problems == Texts{});
  CHECK(r.model.decoder_layers == 6);
  CHECK(r.model.causal);
}

TEST_CASE("an inline vision model needs its image and patch") {
  const Read r = read(R"({"family": "vision", "layers": 12, "hidden": 768, "heads": 12,
                          "image": 224, "patch": 16, "classes": 1000})");
  CHECK(r.problems == Texts{});
  CHECK(r.model.channels == 3);
  CHECK(r.model.sequence == 197);
  CHECK(models::parameters(r.model) == 86'567'656);  // ViT-B/16 with 1000 classes
  CHECK(read(R"({"family": "vision", "layers": 12, "hidden": 768, "heads": 12})").problems ==
        Texts{"/model/image: found nothing, expected a whole number >= 1",
              "/model/patch: found nothing, expected a whole number >= 1"});
}

TEST_CASE("what a model cannot do without is asked for at once") {
  CHECK(read("{}").problems ==
        Texts{"/model/family: found nothing, expected one of encoder, decoder, encoder_decoder, "
              "vision",
              "/model/layers: found nothing, expected a whole number >= 1",
              "/model/hidden: found nothing, expected a whole number >= 1",
              "/model/heads: found nothing, expected a whole number >= 1",
              "/model/vocab: found nothing, expected a whole number >= 1"});
}

TEST_CASE("heads that do not divide the width are refused, unless their size is given") {
  const std::string model = R"({"family": "decoder", "layers": 2, "hidden": 100, "heads": 7,
                                "vocab": 10, "sequence": 8)";
  CHECK(read(model + "}").problems ==
        Texts{"/model/heads: found 7, expected a divisor of hidden = 100; hint: or give head_dim"});
  CHECK(read(model + R"(, "head_dim": 16})").problems == Texts{});
}

TEST_CASE(
    "a changed model follows its base, and what followed from the changed key follows still") {
  const Read r = read(R"({"base": "gpt3-175b", "layers": 12, "hidden": 1536, "heads": 12})");
  CHECK(r.problems == Texts{});
  CHECK(r.model.name == "gpt3-175b, changed");
  CHECK(r.model.layers == 12);
  CHECK(r.model.ffn == 4 * 1536);
  CHECK(r.model.kv_heads == 12);
  CHECK(r.model.head_dim == 128);
  CHECK(r.model.vocab == 50257);  // the base's
  CHECK(r.model.dropout == 0.1);
}

TEST_CASE("what did not follow from a changed key stays the base's") {
  const Read r = read(R"({"base": "llama3-8b", "hidden": 2048, "heads": 16})");
  CHECK(r.problems == Texts{});
  CHECK(r.model.kv_heads == 8);
  CHECK(r.model.ffn == 14336);
}

TEST_CASE("a base that does not exist is one problem at its key") {
  CHECK(read(R"({"base": "gtp2", "layers": 12})").problems ==
        Texts{"/model/base: found \"gtp2\", expected a model's name (tsim models lists them) or "
              "the path of a file; hint: did you mean \"gpt2\"?"});
}

TEST_CASE("a file may hold an inline model, or a base for one") {
  CHECK(read("\"models/tiny.json\"").model.layers == 2);
  const Read r = read(R"({"base": "models/tiny.json", "layers": 3})");
  CHECK(r.problems == Texts{});
  CHECK(r.model.layers == 3);
  CHECK(r.model.hidden == 64);
}

TEST_CASE("what the model's own rules object to carries the key") {
  CHECK(read(R"({"base": "llama3-8b", "kv_heads": 3})").problems ==
        Texts{"/model/kv_heads: found 3, expected a divisor of heads = 32; hint: each key and "
              "value head serves the same number of query heads"});
}

TEST_CASE("dimensions beyond any model are refused before they overflow") {
  CHECK(read(R"({"base": "gpt2", "hidden": 9000000})").problems.front() ==
        "/model/hidden: found 9000000, expected a whole number from 1 to 1000000");
  CHECK(read(R"({"base": "gpt2", "heads": 100000, "head_dim": 100000})").problems.front() ==
        "/model/heads: found heads * head_dim = 10000000000, expected at most 10000000");
}

TEST_CASE("an unknown key of a model is refused with the nearest one") {
  CHECK(read(R"({"base": "gpt2", "layer": 3})").problems ==
        Texts{"/model/layer: unknown key; hint: did you mean \"layers\"?"});
}

TEST_CASE("a model that is no text and no object is refused") {
  CHECK(read("7").problems ==
        Texts{"/model: found 7, expected a model's name, the path of a Hugging Face config.json, "
              "or an object"});
}

TEST_CASE("commands may name a model without a scenario") {
  CHECK(read_model("gpt2").layers == 12);
  CHECK_THROWS_AS(read_model("gpt9"), InputErrors);
}
