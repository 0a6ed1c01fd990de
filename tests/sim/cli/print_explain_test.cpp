#include "sim/cli/print_explain.hpp"

#include <doctest/doctest.h>

#include <sstream>
#include <string>

#include <nlohmann/json.hpp>

#include "models/registry.hpp"

namespace tsim::cli {
namespace {

using nlohmann::json;

Explained explained(const std::string& name, models::Fusion fusion = models::Fusion::framework) {
  Explained e{.config = models::model_named(name).value(),
              .options = {.micro_batch = 2, .sequence = 128},
              .fusion = fusion};
  const models::Model model = models::build_model(e.config, e.options);
  e.tokens = models::tokens_per_sample(model);
  e.explanation = models::explain(model, fusion);
  return e;
}

/// 1 TFLOP/s, 1 TB/s and 1 us a launch, all of it reached.
cost::Device round_device() {
  return {.name = "round",
          .description = "a device of round figures",
          .memory_bandwidth = {1e12},
          .matrix_peaks = {{models::DType::fp16, {1e12}}},
          .vector_peak = {1e12},
          .launch = {1e-6}};
}

json json_of(const Explained& e) {
  std::ostringstream out;
  print_explain_json(e, out);
  return json::parse(out.str());
}

std::string text_of(const Explained& e) {
  std::ostringstream out;
  print_explain_text(e, out);
  return out.str();
}

/// The sum of `key` over all kernels of all copies of all blocks.
double sum(const json& document, const std::string& key) {
  double total = 0;
  for (const json& block : document.at("blocks")) {
    for (const json& kernel : block.at("kernels")) {
      total += block.at("count").get<double>() * kernel.at(key).get<double>();
    }
  }
  return total;
}

double class_sum(const json& document, const std::string& key) {
  double total = 0;
  for (const json& row : document.at("classes")) { total += row.at(key).get<double>(); }
  return total;
}

}  // namespace

TEST_CASE("an explained model's kernels hold all of its published parameters") {
  const json bert = json_of(explained("bert-base"));
  CHECK(bert.at("parameters") == 109'482'240);
  CHECK(sum(json_of(explained("gpt2")), "parameters") == 124'439'808);
}

TEST_CASE("an explained model's classes add up to its kernels") {
  const json document = json_of(explained("gpt2", models::Fusion::full));
  CHECK(class_sum(document, "flops") ==
        doctest::Approx(sum(document, "forward_flops") + sum(document, "backward_flops")));
  CHECK(class_sum(document, "bytes") ==
        doctest::Approx(sum(document, "forward_bytes") + sum(document, "backward_bytes")));
  CHECK(sum(document, "saved_bytes") == document.at("saved_bytes").get<double>());
}

TEST_CASE("times are given only where a device is named") {
  Explained e = explained("gpt2");
  CHECK_FALSE(json_of(e).contains("device"));
  CHECK(text_of(e).find("time") == std::string::npos);
  e.device = round_device();
  const json document = json_of(e);
  CHECK(document.at("device") == "round");
  CHECK(class_sum(document, "seconds") ==
        doctest::Approx(sum(document, "forward_seconds") + sum(document, "backward_seconds")));
  CHECK(text_of(e).find("a device of round figures") != std::string::npos);
}

TEST_CASE("every kernel takes at least a launch, its FLOPs and its bytes") {
  Explained e = explained("gpt2");
  e.device = round_device();
  const json document = json_of(e);
  for (const json& block : document.at("blocks")) {
    for (const json& kernel : block.at("kernels")) {
      const double seconds = kernel.at("forward_seconds");
      CHECK(seconds >= 1e-6);
      CHECK(seconds >= kernel.at("forward_flops").get<double>() / 1e12);
      CHECK(seconds >= kernel.at("forward_bytes").get<double>() / 1e12);
    }
  }
}

TEST_CASE("the text of an explained model has a table for each block and one for the classes") {
  const Explained e = explained("bert-base");
  const std::string text = text_of(e);
  for (const models::BlockRow& block : e.explanation.blocks) {
    CHECK(text.find("\n" + block.name) != std::string::npos);
  }
  for (const char* name : {"contraction", "normalization", "elementwise"}) {
    CHECK(text.find("  " + std::string(name)) != std::string::npos);
  }
  CHECK(text.find("encoder layer, one of 12\n") != std::string::npos);
}

}  // namespace tsim::cli
