#include "models/lora_problems.hpp"

#include <algorithm>
#include <utility>

namespace tsim::models {
namespace {

constexpr std::string_view kDown = ".lora_a";
constexpr std::string_view kUp = ".lora_b";

/// A product that can have an adapter, and its smaller side.
struct Product {
  std::string name;
  std::int64_t side = 0;
};

/// Those of the layers in their order, each name once, with the smallest side of all.
std::vector<Product> products(ModelConfig config) {
  config.lora = {.rank = 1};  // of every product: A is as long as its one side, B as its other
  std::vector<Product> found;
  const auto add = [&found](std::string name, std::int64_t side) {
    const auto known = std::ranges::find(found, name, &Product::name);
    if (known == found.end()) {
      found.push_back({std::move(name), side});
    } else {
      known->side = std::min(known->side, side);
    }
  };
  for (const Block& block : build_model(config, {}).blocks) {
    if (block.kind != BlockKind::layer && block.kind != BlockKind::decoder_layer) { continue; }
    for (const Op& op : block.graph.ops) {
      if (!op.name.ends_with(kDown) && !op.name.ends_with(kUp)) { continue; }
      add(op.name.substr(0, op.name.size() - kDown.size()), elements(op.weights.front().shape));
    }
  }
  return found;
}

std::string names_of(const std::vector<Product>& products) {
  std::string names;
  for (const Product& p : products) { names += (names.empty() ? "" : ", ") + p.name; }
  return names;
}

bool is_target(const LoraConfig& lora, const Product& product) {
  return lora.targets.empty() ||
         std::ranges::find(lora.targets, product.name) != lora.targets.end();
}

}  // namespace

std::vector<ConfigProblem> lora_problems(const ModelConfig& config) {
  const LoraConfig& lora = config.lora;
  if (lora == LoraConfig{}) { return {}; }
  std::vector<ConfigProblem> problems;
  if (!(lora.dropout >= 0 && lora.dropout < 1)) {
    problems.push_back({"lora/dropout", std::to_string(lora.dropout),
                        "a probability: 0 or more, less than 1", ""});
  }
  if (lora.rank < 1) {
    problems.push_back({"lora/rank", std::to_string(lora.rank), "a whole number from 1 on",
                        "the other keys of lora need a rank"});
    return problems;
  }
  const std::vector<Product> all = products(config);
  for (std::size_t i = 0; i < lora.targets.size(); ++i) {
    const std::string& target = lora.targets[i];
    if (std::ranges::find(all, target, &Product::name) != all.end()) { continue; }
    problems.push_back(
        {"lora/targets/" + std::to_string(i), "\"" + target + "\"", "one of " + names_of(all),
         target.starts_with("experts.")
             ? "routed experts stay as they are: their products take no adapters"
             : "products of attention and of dense MLPs, as `tsim explain` names them"});
  }
  for (const Product& p : all) {
    if (!is_target(lora, p) || lora.rank < p.side) { continue; }
    problems.push_back({"lora/rank", std::to_string(lora.rank),
                        "less than " + std::to_string(p.side) + ", the smaller side of " + p.name,
                        "an adapter of full rank trains more than the product itself has"});
    break;
  }
  return problems;
}

}  // namespace tsim::models
