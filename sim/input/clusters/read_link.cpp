#include "sim/input/clusters/read_link.hpp"

#include <array>

#include "sim/input/rules/plausible.hpp"

namespace tsim::sim {
namespace {

using cost::LinkKind;
using cost::LinkSpec;

constexpr std::array<std::string_view, 2> kDuplex{"full", "half"};
constexpr std::int64_t kMostLanes = 1024;

bool is_unlimited(const Place& place) {
  return place.present() && place.value->is_string() &&
         place.value->get_ref<const std::string&>() == "unlimited";
}

void warn_if_fast(const Place& place, BytesPerSecond rate, LinkKind kind) {
  if (kind == LinkKind::nic) { warn_if_fast_nic(place, rate); }
  if (kind == LinkKind::nvlink) { warn_if_fast_link(place, rate, false); }
  if (kind == LinkKind::pcie) { warn_if_fast_link(place, rate, true); }
}

}  // namespace

LinkSpec read_link_keys(Reader& in, const LinkRule& rule) {
  LinkSpec link = rule.otherwise.value_or(LinkSpec{});
  const auto fallback = [&](double value) {
    return rule.otherwise ? std::optional<double>(value) : std::nullopt;
  };
  const Place bandwidth = in.take("bandwidth");
  const bool unlimited = is_unlimited(bandwidth);
  if (unlimited) {
    link.bandwidth = cost::kUnlimited;
  } else {
    link.bandwidth = {read_quantity(bandwidth, Dimension::rate, fallback(link.bandwidth.value))};
    warn_if_fast(bandwidth, link.bandwidth, rule.kind);
  }
  const Place latency = in.take("latency");
  link.latency = {
      read_quantity(latency, Dimension::time,
                    unlimited ? std::optional<double>(0.0) : fallback(link.latency.value), true)};
  warn_if_slow_crossing(latency, link.latency);
  const bool full = rule.otherwise ? link.full_duplex : rule.full_duplex;
  link.full_duplex = read_choice(in.take("duplex"), kDuplex, full ? 0 : 1) == 0;
  if (rule.kind == LinkKind::nvlink) {
    link.lanes = static_cast<int>(read_count(in.take("lanes"), {1, kMostLanes}, link.lanes));
  }
  return link;
}

LinkSpec read_link(const Place& place, const LinkRule& rule) {
  if (!place.present()) { return rule.otherwise.value_or(LinkSpec{}); }
  Reader in(place);
  const LinkSpec link = read_link_keys(in, rule);
  in.finish();
  return link;
}

LinkSpec required_link(const Place& place, const LinkRule& rule) {
  if (!place.present()) {
    place.fail("nothing", R"(a link such as {"bandwidth": "25 GB/s", "latency": "1 us"})");
  }
  return read_link(place, rule);
}

}  // namespace tsim::sim
