#include "sim/input/models/read_moe_fields.hpp"

#include <array>

#include "sim/input/read_model.hpp"

namespace tsim::sim {
namespace {

using models::DType;
using models::MoeConfig;
using models::RouterScoring;

constexpr Range kExperts{.least = 1, .most = 65'536};
constexpr Range kCount{.least = 0, .most = 65'536};
constexpr Range kColumns{.least = 0, .most = 10'000'000};
constexpr std::array kScorings{RouterScoring::softmax, RouterScoring::sigmoid};
constexpr std::array<std::string_view, 3> kRouterTypes{"fp32", "bf16", "fp16"};
constexpr std::array kRouterDTypes{DType::fp32, DType::bf16, DType::fp16};

void read_shared(Reader& in, MoeConfig& moe) {
  moe.shared_experts = read_count(in.take("shared_experts"), kCount, moe.shared_experts);
  // Shared experts are as wide as routed ones unless told otherwise.
  const Place columns = in.take("shared_ffn");
  const std::int64_t usual = moe.shared_ffn > 0 ? moe.shared_ffn : moe.shared_experts * moe.ffn;
  moe.shared_ffn = read_count(columns, kColumns, usual);
  if (columns.present() && moe.shared_ffn > 0 && moe.shared_experts == 0) {
    moe.shared_experts = 1;
  }
  moe.shared_gate = read_flag(in.take("shared_gate"), moe.shared_gate);
  moe.residual = read_flag(in.take("residual"), moe.residual);
}

void read_places(Reader& in, MoeConfig& moe) {
  const Range layers{.least = 0, .most = limits::kLayers.most};
  const auto place = [&](std::string_view key, int& value, Range range) {
    value = static_cast<int>(read_count(in.take(key), range, value));
  };
  place("every", moe.every, limits::kLayers);
  place("first_dense", moe.first_dense, layers);
  place("offset", moe.offset, layers);
  const Place list = in.take("layers");
  if (!list.present()) { return; }
  moe.layers.clear();
  for (const Place& entry : read_entries(list)) {
    moe.layers.push_back(static_cast<int>(read_count(entry, layers)));
  }
}

void read_router(Reader& in, MoeConfig& moe) {
  moe.router_bias = read_flag(in.take("router_bias"), moe.router_bias);
  moe.normalise_top_k = read_flag(in.take("normalise_top_k"), moe.normalise_top_k);
  moe.scoring = read_choice<RouterScoring>(in.take("scoring"), kScorings, moe.scoring);
  const Place dtype = in.take("router_dtype");
  if (dtype.present()) { moe.router_dtype = kRouterDTypes[read_choice(dtype, kRouterTypes)]; }
}

}  // namespace

void read_moe(const Place& place, models::ModelConfig& model) {
  if (!place.present()) { return; }
  MoeConfig& moe = model.moe;
  Reader in(place);
  const Place experts = in.take("experts");
  const Place by_layer = in.take("experts_by_layer");
  if (by_layer.present()) {
    moe.experts_by_layer.clear();
    for (const Place& entry : read_entries(by_layer)) {
      moe.experts_by_layer.push_back(read_count(entry, kExperts));
      moe.experts = std::max(moe.experts, moe.experts_by_layer.back());
    }
  }
  moe.experts =
      read_count(experts, kExperts, moe.experts > 0 ? std::optional(moe.experts) : std::nullopt);
  moe.top_k = read_count(in.take("top_k"), kExperts, moe.top_k);
  moe.ffn = read_count(in.take("ffn"), limits::kFfn, moe.ffn > 0 ? moe.ffn : model.ffn);
  read_shared(in, moe);
  read_places(in, moe);
  read_router(in, moe);
  in.finish();
}

void read_latent(const Place& place, models::LatentAttention& latent) {
  if (!place.present()) { return; }
  Reader in(place);
  const auto take = [&](std::string_view key, std::int64_t& value, std::int64_t least) {
    value = read_count(in.take(key), {.least = least, .most = limits::kHeadDim.most},
                       value > 0 || least == 0 ? std::optional(value) : std::nullopt);
  };
  take("q_lora_rank", latent.q_lora_rank, 0);
  take("kv_lora_rank", latent.kv_lora_rank, 1);
  take("qk_nope_head_dim", latent.qk_nope_head_dim, 1);
  take("qk_rope_head_dim", latent.qk_rope_head_dim, 1);
  take("v_head_dim", latent.v_head_dim, 1);
  in.finish();
}

}  // namespace tsim::sim
