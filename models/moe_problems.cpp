#include "models/moe_problems.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace tsim::models {
namespace {

/// Bounds far above any model, low enough that sums of sizes stay below 2^63.
constexpr std::int64_t kManyExperts = std::int64_t{1} << 16;
constexpr std::int64_t kWide = std::int64_t{1} << 20;
constexpr double kManyParameters = 1e17;

std::string text(std::int64_t n) { return std::to_string(n); }

class Checker {
 public:
  explicit Checker(const ModelConfig& config) : c_(config), moe_(config.moe) {}

  std::vector<ConfigProblem> check() && {
    if (moe_.experts == 0) {
      if (moe_ != MoeConfig{}) {
        report("moe/experts", "0", "a whole number from 1 to " + text(kManyExperts),
               "the other keys of moe need experts");
      }
    } else {
      check_experts();
      check_shared();
      check_places();
    }
    check_latent();
    check_prediction();
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

  void check_experts() {
    const bool experts = in_range("moe/experts", moe_.experts, 1, kManyExperts);
    const bool ffn = in_range("moe/ffn", moe_.ffn, 1, 16 * kWide);
    std::int64_t fewest = moe_.experts;
    bool listed = true;
    for (const std::int64_t n : moe_.experts_by_layer) {
      listed = listed && in_range("moe/experts_by_layer", n, 1, kManyExperts);
      fewest = std::min(fewest, n);
    }
    if (experts && (moe_.top_k < 1 || moe_.top_k > fewest)) {
      report("moe/top_k", text(moe_.top_k),
             "a whole number from 1 to the layer's experts = " +
                 text(std::max<std::int64_t>(1, fewest)));
    }
    if (experts && ffn && listed) { check_size(); }
  }

  void check_size() {
    double rows = 0;
    for (const std::int64_t n : layer_experts(c_)) { rows += static_cast<double>(n); }
    if (rows * static_cast<double>(moe_.ffn) * static_cast<double>(c_.hidden) > kManyParameters) {
      report("moe/experts", text(moe_.experts), "at most 1e17 elements in all experts");
    }
  }

  void check_shared() {
    in_range("moe/shared_experts", moe_.shared_experts, 0, kManyExperts);
    in_range("moe/shared_ffn", moe_.shared_ffn, 0, 16 * kWide);
    if ((moe_.shared_experts > 0) != (moe_.shared_ffn > 0)) {
      report("moe/shared_ffn", text(moe_.shared_ffn),
             moe_.shared_experts > 0 ? "the columns of all shared experts together, 1 or more"
                                     : "0 without shared_experts");
    }
    if (moe_.shared_gate && moe_.shared_ffn == 0) {
      report("moe/shared_gate", "true", "false without shared experts");
    }
  }

  void check_places() {
    const int layers = std::max(c_.layers, c_.decoder_layers);
    const bool every = in_range("moe/every", moe_.every, 1, std::max(1, layers));
    in_range("moe/first_dense", moe_.first_dense, 0, layers - 1);
    bool places = every && in_range("moe/offset", moe_.offset, 0, moe_.every - 1);
    for (const int layer : moe_.layers) {
      places = in_range("moe/layers", layer, 0, layers - 1) && places;
    }
    if (!places) { return; }
    if (!std::is_sorted(moe_.layers.begin(), moe_.layers.end(), std::less_equal<>())) {
      report("moe/layers", "a list out of order", "ascending layers, each once");
      return;
    }
    check_list(layer_experts(c_));
  }

  void check_list(const std::vector<std::int64_t>& by_layer) {
    const auto moe_layers =
        std::count_if(by_layer.begin(), by_layer.end(), [](std::int64_t n) { return n > 0; });
    if (moe_layers == 0) {
      report("moe/experts", text(moe_.experts), "at least one layer with experts",
             "every, offset, first_dense and layers leave none");
    }
    const auto listed = static_cast<std::int64_t>(moe_.experts_by_layer.size());
    if (listed != 0 && listed != moe_layers) {
      report("moe/experts_by_layer", text(listed) + " numbers",
             text(moe_layers) + ": one for every layer with experts");
    }
  }

  void check_latent() {
    const LatentAttention& l = c_.latent;
    if (l.kv_lora_rank == 0) {
      if (l != LatentAttention{}) {
        report("latent/kv_lora_rank", "0", "a whole number from 1 to " + text(kWide));
      }
      return;
    }
    in_range("latent/kv_lora_rank", l.kv_lora_rank, 1, kWide);
    in_range("latent/q_lora_rank", l.q_lora_rank, 0, kWide);
    const bool own = in_range("latent/qk_nope_head_dim", l.qk_nope_head_dim, 1, kWide);
    const bool turned = in_range("latent/qk_rope_head_dim", l.qk_rope_head_dim, 2, kWide);
    in_range("latent/v_head_dim", l.v_head_dim, 1, kWide);
    if (turned && l.qk_rope_head_dim % 2 != 0) {
      report("latent/qk_rope_head_dim", text(l.qk_rope_head_dim),
             "an even number: rotary positions turn pairs");
    }
    const std::int64_t head = l.qk_nope_head_dim + l.qk_rope_head_dim;
    if (own && turned && c_.head_dim != head) {
      report("head_dim", text(c_.head_dim),
             text(head) + " = qk_nope_head_dim + qk_rope_head_dim of latent attention");
    }
    if (c_.kv_heads != c_.heads) {
      report("kv_heads", text(c_.kv_heads),
             text(c_.heads) + " = heads: latent attention makes keys for every head");
    }
    if (c_.family != Family::decoder || c_.positions != Positions::rotary || c_.qk_norm) {
      report("latent/kv_lora_rank", text(l.kv_lora_rank),
             "0, or a decoder with rotary positions and without qk_norm");
    }
  }

  void check_prediction() {
    constexpr int kManyModules = 16;
    if (!in_range("mtp_layers", c_.mtp_layers, 0, kManyModules) || c_.mtp_layers == 0) { return; }
    if (c_.family != Family::decoder || !c_.head) {
      report("mtp_layers", text(c_.mtp_layers), "0: only a decoder with a head predicts tokens");
    }
  }

  const ModelConfig& c_;
  const MoeConfig& moe_;
  std::vector<ConfigProblem> problems_;
};

}  // namespace

std::vector<ConfigProblem> expert_problems(const ModelConfig& config) {
  return Checker(config).check();
}

}  // namespace tsim::models
