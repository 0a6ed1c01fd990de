// Dimensions of mixture-of-experts layers.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "models/dtype.hpp"

namespace tsim::models {

/// How a router turns its outputs into probabilities.
enum class RouterScoring : std::uint8_t { softmax, sigmoid };
std::string_view name_of(RouterScoring scoring);

/// What a MoE layer has in place of a MLP. The places of these layers are those of `layers` if it
/// lists any, else layer i with i >= first_dense and (i - first_dense) mod every = offset; layers
/// count from 0 in each stack.
struct MoeConfig {
  std::int64_t experts = 0;                         // routed ones of a layer; 0: a dense model
  std::vector<std::int64_t> experts_by_layer = {};  // of each MoE layer; empty: `experts`
                                                    // everywhere [arXiv:2201.05596, sec. 4.1]
  std::int64_t top_k = 1;                           // experts that a token goes to
  std::int64_t ffn = 0;                             // columns of one expert
  std::int64_t shared_experts = 0;                  // that every token goes to
  std::int64_t shared_ffn = 0;                      // columns of all of them together; 0: none
  bool shared_gate = false;  // a sigmoid of one trained vector scales the shared branch (Qwen2-MoE)
  bool residual = false;     // the dense MLP runs beside the experts, the results are added
                             // [arXiv:2201.05596, sec. 4.1]
  int every = 1;
  int first_dense = 0;
  int offset = 0;
  std::vector<int> layers = {};
  bool router_bias = false;     // a bias of each expert that only the choice sees, set by the load
                                // [arXiv:2412.19437, sec. 2.1.2]; checkpoints hold it
  bool normalise_top_k = true;  // the chosen probabilities sum to one
  RouterScoring scoring = RouterScoring::softmax;
  DType router_dtype = DType::fp32;  // [arXiv:2101.03961, sec. 2.4]
  bool operator==(const MoeConfig&) const = default;
};

/// Low-rank attention [arXiv:2405.04434, sec. 2.1]: keys and values come from kv_rank columns,
/// queries from q_rank ones; a head has nope_dim columns without and rope_dim with positions.
struct LatentAttention {
  std::int64_t q_lora_rank = 0;   // 0: queries come from the hidden state itself
  std::int64_t kv_lora_rank = 0;  // 0: no latent attention
  std::int64_t qk_nope_head_dim = 0;
  std::int64_t qk_rope_head_dim = 0;
  std::int64_t v_head_dim = 0;
  bool operator==(const LatentAttention&) const = default;
};

}  // namespace tsim::models
