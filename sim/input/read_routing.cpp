#include "sim/input/read_routing.hpp"

#include <array>
#include <optional>

#include "sim/input/data_files.hpp"
#include "sim/input/read_routing_trace.hpp"
#include "sim/input/suggest.hpp"

namespace tsim::sim {
namespace {

using models::RoutingKind;
using models::RoutingLoad;
using models::RoutingSpec;

constexpr std::array kKinds{RoutingKind::dropless, RoutingKind::top_k_capacity,
                            RoutingKind::expert_choice, RoutingKind::batch_priority,
                            RoutingKind::node_limited};
constexpr std::array kLoads{RoutingLoad::uniform, RoutingLoad::zipf, RoutingLoad::histogram,
                            RoutingLoad::trace};
constexpr RealRange kShare{.least = 0.0, .most = 1.0};
constexpr RealRange kFactor{.least = 0.0, .most = 1e6, .above = true};

/// A key that only some settings have.
bool only_with(const Place& place, bool allowed, const std::string& what) {
  if (place.present() && !allowed) { place.fail(place.found(), "no such key without " + what); }
  return place.present() && allowed;
}

void read_kind(Reader& in, RoutingSpec& spec) {
  spec.kind = read_choice<RoutingKind>(in.take("kind"), kKinds, spec.kind);
  const Place factor = in.take("capacity_factor");
  const Place groups = in.take("local_groups");
  const Place limit = in.take("node_limit");
  const bool capacity = models::has_capacity(spec.kind);
  const std::string kinds = "kind top_k_capacity, expert_choice or batch_priority";
  if (capacity && !factor.present() && spec.kind != RoutingKind::expert_choice) {
    factor.fail("nothing", "rows that an expert takes over the mean, as 1.25");
  }
  spec.capacity_factor = capacity ? 1 : 0;
  if (only_with(factor, capacity, kinds)) { spec.capacity_factor = read_real(factor, kFactor); }
  if (only_with(groups, capacity, kinds)) {
    spec.local_groups = read_count(groups, {.least = 1, .most = 1'000'000});
  }
  const bool limited = spec.kind == RoutingKind::node_limited;
  if (limited || only_with(limit, false, "kind node_limited")) {
    spec.node_limit = static_cast<int>(read_count(limit, {.least = 1, .most = 1'000'000}));
  }
}

void read_histogram(const Place& place, RoutingSpec& spec) {
  const std::vector<Place> entries = read_entries(place);
  const bool flat = !entries.empty() && entries.front().value->is_number();
  const auto read_list = [&](const std::vector<Place>& list) {
    std::vector<double> shares;
    shares.reserve(list.size());
    for (const Place& share : list) { shares.push_back(read_real(share, kShare)); }
    spec.shares.push_back(std::move(shares));
  };
  if (flat) {
    read_list(entries);
    return;
  }
  for (const Place& entry : entries) { read_list(read_entries(entry)); }
}

void read_trace(const Place& place, const std::filesystem::path& folder, RoutingSpec& spec) {
  const std::string written = read_text(place);
  if (written.empty()) { return; }
  if (const auto path = find_path(written, folder)) {
    read_routing_trace(*path, spec, *place.source->problems);
  } else {
    place.fail(in_quotes(written), "the path of a routing trace", "no such file");
  }
}

void read_load(Reader& in, const std::filesystem::path& folder, RoutingSpec& spec) {
  spec.load = read_choice<RoutingLoad>(in.take("load"), kLoads, spec.load);
  const Place exponent = in.take("exponent");
  const Place histogram = in.take("histogram");
  const Place trace = in.take("trace");
  if (only_with(exponent, spec.load == RoutingLoad::zipf, "load zipf")) {
    spec.exponent = read_real(exponent, {.least = 0.0, .most = 100.0});
  }
  const bool shares = spec.load == RoutingLoad::histogram;
  if (only_with(histogram, shares, "load histogram") || shares) { read_histogram(histogram, spec); }
  const bool recorded = spec.load == RoutingLoad::trace;
  if (only_with(trace, recorded, "load trace") || recorded) { read_trace(trace, folder, spec); }
}

}  // namespace

RoutingSpec read_routing(const Place& place, const std::filesystem::path& folder) {
  RoutingSpec spec;
  if (!place.present()) { return spec; }
  Reader in(place);
  read_kind(in, spec);
  read_load(in, folder, spec);
  spec.balance = read_real(in.take("balance"), kShare, 0.0);
  spec.second_expert = read_real(in.take("second_expert"), kShare, 1.0);
  spec.seed = static_cast<std::uint64_t>(
      read_count(in.take("seed"), {.least = 0, .most = kMostCounted}, 0));
  in.finish();
  return spec;
}

void check_routing(const RoutingSpec& spec, const models::ModelConfig& model,
                   const std::string& path, Problems& problems, int nodes) {
  for (const models::ConfigProblem& p : models::problems(spec, model, nodes)) {
    problems.add(
        {.path = path + "/" + p.key, .found = p.found, .expected = p.expected, .hint = p.hint});
  }
}

}  // namespace tsim::sim
