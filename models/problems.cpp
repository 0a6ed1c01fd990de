// What a model's dimensions cannot be.
#include <utility>

#include "models/lora_problems.hpp"
#include "models/moe_problems.hpp"

namespace tsim::models {
namespace {

/// Bounds far above any model, low enough that no product of sizes leaves 64 bits.
constexpr std::int64_t kManyLayers = std::int64_t{1} << 16;
constexpr std::int64_t kWide = std::int64_t{1} << 20;
constexpr std::int64_t kManyTokens = std::int64_t{1} << 24;

std::string text(std::int64_t n) { return std::to_string(n); }

class Checker {
 public:
  explicit Checker(const ModelConfig& config) : c_(config) {}

  std::vector<ConfigProblem> check() && {
    check_stack();
    check_attention();
    if (c_.family == Family::vision) {
      check_vision();
    } else {
      check_language();
    }
    check_positions();
    check_dropout("dropout", c_.dropout);
    check_dropout("attention_dropout", c_.attention_dropout);
    return std::move(problems_);
  }

 private:
  void report(std::string key, std::string found, std::string expected, std::string hint = "") {
    problems_.push_back({std::move(key), std::move(found), std::move(expected), std::move(hint)});
  }

  bool in_range(const char* key, std::int64_t value, std::int64_t least, std::int64_t most) {
    if (value >= least && value <= most) { return true; }
    report(key, text(value), "a whole number from " + text(least) + " to " + text(most));
    return false;
  }

  void only_for(const char* key, std::int64_t value, const char* what) {
    if (value != 0) { report(key, text(value), std::string("0, or no such key: only ") + what); }
  }

  void check_stack() {
    in_range("layers", c_.layers, 1, kManyLayers);
    if (c_.family == Family::encoder_decoder) {
      in_range("decoder_layers", c_.decoder_layers, 1, kManyLayers);
    } else {
      only_for("decoder_layers", c_.decoder_layers, "an encoder_decoder has two stacks");
    }
    in_range("hidden", c_.hidden, 1, kWide);
    in_range("ffn", c_.ffn, 1, 16 * kWide);
    if (c_.query_layer && (c_.family != Family::decoder || c_.max_positions < 1)) {
      report("query_layer", "true", "false: only a decoder with max_positions has a query layer");
    }
  }

  void check_attention() {
    const bool heads = in_range("heads", c_.heads, 1, kWide);
    const bool kv_heads = in_range("kv_heads", c_.kv_heads, 1, kWide);
    if (heads && kv_heads && c_.heads % c_.kv_heads != 0) {
      report("kv_heads", text(c_.kv_heads), "a divisor of heads = " + text(c_.heads),
             "each key and value head serves the same number of query heads");
    }
    if (c_.head_dim == 0 && heads && c_.hidden % c_.heads != 0) {
      report("heads", text(c_.heads), "a divisor of hidden = " + text(c_.hidden),
             "or state head_dim");
    } else if (in_range("head_dim", c_.head_dim, 1, kWide) && c_.positions == Positions::rotary &&
               c_.head_dim % 2 != 0) {
      report("head_dim", text(c_.head_dim), "an even number: rotary positions turn pairs");
    }
  }

  void check_language() {
    if (!c_.stages.empty()) {
      report("stages", text(std::ssize(c_.stages)), "no stages: only a vision model has them");
    }
    in_range("vocab", c_.vocab, 1, kManyTokens);
    only_for("image", c_.image, "a vision model has pixels");
    only_for("patch", c_.patch, "a vision model has patches");
    in_range("sequence", c_.sequence, 1, kManyTokens);
    in_range("types", c_.types, 0, kWide);
    in_range("classes", c_.classes, 0, kManyTokens);
  }

  void check_vision() {
    only_for("vocab", c_.vocab, "a language model has a vocabulary; see classes");
    if (c_.head) {
      report("head", "true", "false: a vision model ends in classes, not in a vocabulary");
    }
    in_range("classes", c_.classes, 0, kManyTokens);
    in_range("channels", c_.channels, 1, kWide);
    const bool image = in_range("image", c_.image, 1, kWide);
    const bool patch = in_range("patch", c_.patch, 1, kWide);
    if (!image || !patch) { return; }
    if (c_.image % c_.patch != 0) {
      report("patch", text(c_.patch), "a divisor of image = " + text(c_.image));
      return;
    }
    const std::int64_t side = c_.image / c_.patch;
    const std::int64_t tokens = image_tokens(c_);
    if (!in_range("image", tokens, 1, kManyTokens)) { return; }
    check_stages(side);
    if (c_.sequence != 0 && c_.sequence != tokens) {
      report("sequence", text(c_.sequence), text(tokens),
             text(side) + " x " + text(side) +
                 (c_.stages.empty() ? " patches and the class token" : " patches"));
    }
    if (c_.positions == Positions::learned && c_.max_positions != tokens) {
      report("max_positions", text(c_.max_positions), text(tokens),
             "one for every patch and one for the class token");
    }
  }

  /// Stages halve the side, and windows divide it.
  void check_stages(std::int64_t side) {
    if (c_.stages.empty()) {
      only_for("window", c_.window, "a model with stages attends inside windows");
      only_for("position_mlp", c_.position_mlp, "windows have positions of their own");
      return;
    }
    std::int64_t layers = 0;
    if (!in_range("window", c_.window, 1, kWide) ||
        !in_range("position_mlp", c_.position_mlp, 0, kWide)) {
      return;
    }
    for (std::size_t i = 0; i < c_.stages.size(); ++i) {
      const std::string key = "stages/" + std::to_string(i);
      const VisionStage& stage = c_.stages[i];
      layers += stage.layers;
      if (stage.heads < 1 || stage.hidden % stage.heads != 0) {
        report(key + "/heads", text(stage.heads), "a divisor of hidden = " + text(stage.hidden));
      }
      const std::int64_t here = side >> i;
      if ((here << i) != side || here < 1 || here % std::min(here, c_.window) != 0) {
        report("window", text(c_.window),
               "a divisor of the " + text(here) + " tokens along a side of stage " +
                   std::to_string(i + 1) + ", and a side that each stage halves");
        return;
      }
    }
    if (layers != c_.layers) {
      report("layers", text(c_.layers), text(layers) + ", the sum of all stages");
    }
  }

  void check_positions() {
    if (c_.positions == Positions::learned && c_.family != Family::vision &&
        in_range("max_positions", c_.max_positions, 1, kManyTokens) &&
        c_.sequence > c_.max_positions) {
      report("sequence", text(c_.sequence),
             "at most max_positions = " + text(c_.max_positions) + ", the rows of its table");
    }
    if (c_.positions == Positions::relative) {
      in_range("relative_buckets", c_.relative_buckets, 1, kWide);
    } else {
      only_for("relative_buckets", c_.relative_buckets, "relative positions have buckets");
    }
  }

  void check_dropout(const char* key, double p) {
    if (!(p >= 0 && p < 1)) {
      report(key, std::to_string(p), "a probability: 0 or more, less than 1");
    }
  }

  const ModelConfig& c_;
  std::vector<ConfigProblem> problems_;
};

}  // namespace

std::vector<ConfigProblem> problems(const ModelConfig& config) {
  std::vector<ConfigProblem> all = Checker(config).check();
  const std::vector<ConfigProblem> more = expert_problems(config);
  all.insert(all.end(), more.begin(), more.end());
  return all.empty() ? lora_problems(config) : all;
}

}  // namespace tsim::models
