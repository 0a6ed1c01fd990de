#include "sim/input/read_experts.hpp"

#include <array>

#include "sim/input/read_routing.hpp"

namespace tsim::sim {
namespace {

using models::DType;
using strategies::Dispatch;

constexpr Range kDegree{1, 1'000'000};
constexpr Range kChunks{1, 64};
constexpr std::array kWays{Dispatch::direct, Dispatch::hierarchical, Dispatch::two_level,
                           Dispatch::rails, Dispatch::all_gather};
constexpr std::array kFormats{DType::fp32, DType::bf16, DType::fp16, DType::fp8};

std::optional<DType> read_format(const Place& place) {
  if (!place.present()) { return std::nullopt; }
  return read_choice<DType>(place, kFormats);
}

}  // namespace

void read_experts(Reader& in, const std::filesystem::path& folder, strategies::Strategy& strategy) {
  strategies::ExpertParallel& e = strategy.experts;
  e.ranks = static_cast<int>(read_count(in.take("expert"), kDegree, e.ranks));
  e.tensor = static_cast<int>(read_count(in.take("expert_tensor"), kDegree, e.tensor));
  const Place place = in.take("moe");
  if (!place.present()) { return; }
  Reader moe(place);
  e.dispatch = read_choice<Dispatch>(moe.take("dispatch"), kWays, e.dispatch);
  e.dispatch_format = read_format(moe.take("dispatch_format"));
  e.combine_format = read_format(moe.take("combine_format"));
  e.chunks = static_cast<int>(read_count(moe.take("chunks"), kChunks, e.chunks));
  static constexpr std::array<std::string_view, 2> kScaled{"combine", "activation"};
  e.scales_early = read_choice(moe.take("scale"), kScaled, 0) == 1;
  e.shadowing.on = read_flag(moe.take("shadow"), e.shadowing.on);
  e.routing = read_routing(moe.take("routing"), folder);
  moe.finish();
}

}  // namespace tsim::sim
