#include "sim/input/models/read_lora.hpp"

#include <optional>

namespace tsim::sim {
namespace {

constexpr Range kRank{.least = 1, .most = 1'000'000};
constexpr RealRange kProbability{.least = 0.0, .most = 1.0};

}  // namespace

void read_lora(const Place& place, models::LoraConfig& lora) {
  if (!place.present()) { return; }
  Reader in(place);
  lora.rank =
      read_count(in.take("rank"), kRank, lora.rank > 0 ? std::optional(lora.rank) : std::nullopt);
  const Place targets = in.take("targets");
  if (targets.present()) {
    lora.targets.clear();
    for (const Place& entry : read_entries(targets)) { lora.targets.push_back(read_text(entry)); }
    if (lora.targets.empty()) {
      targets.fail("an empty list", "names of products, or no such key for all of them");
    }
  }
  lora.dropout = read_real(in.take("dropout"), kProbability, lora.dropout);
  in.finish();
}

}  // namespace tsim::sim
