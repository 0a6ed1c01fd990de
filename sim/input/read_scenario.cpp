#include "sim/input/read_scenario.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "sim/input/read_async.hpp"
#include "sim/input/read_cluster.hpp"
#include "sim/input/read_model.hpp"
#include "sim/input/read_slices.hpp"
#include "sim/input/read_stragglers.hpp"
#include "sim/input/read_strategy.hpp"
#include "sim/input/rules/check_scenario.hpp"
#include "sim/input/suggest.hpp"
#include "strategies/layout.hpp"

namespace tsim::sim {
namespace fs = std::filesystem;
namespace {

constexpr std::array<std::string_view, 2> kFolds{"auto", "none"};

/// Nodes that ranks with all experts lie on.
int nodes_of_experts(const Scenario& s) {
  if (s.model.moe.experts == 0) { return 1; }
  const strategies::RankGroup group{strategies::GroupAxis::plane, s.strategy.experts.ranks,
                                    expert_tensor(s.strategy)};
  std::set<std::int32_t> nodes;
  for (const int rank : strategies::Layout(s.strategy).ranks(group, 0, {})) {
    nodes.insert(node_of(s.cluster.topology, rank));
  }
  return static_cast<int>(nodes.size());
}

/// What the rule of shadowed experts judges by: the narrowest channel to the group's last rank, and
/// the matrix units' peak.
void settle_shadowing(Scenario& s) {
  strategies::Shadowing& shadowing = s.strategy.experts.shadowing;
  if (!shadowing.on || s.model.moe.experts == 0) { return; }
  const strategies::RankGroup group{strategies::GroupAxis::plane, s.strategy.experts.ranks,
                                    expert_tensor(s.strategy)};
  const std::vector<int> ranks = strategies::Layout(s.strategy).ranks(group, 0, {});
  const cost::Topology& topology = s.cluster.topology;
  cost::Router router(topology);
  shadowing.network = {std::numeric_limits<double>::infinity()};
  for (const cost::ChannelId c : router.path(ranks.front(), ranks.back()).channels) {
    shadowing.network =
        std::min(shadowing.network, topology.channels[static_cast<std::size_t>(c)].bandwidth);
  }
  const cost::Device& device = s.cluster.devices.front();
  shadowing.compute = peak(device, s.strategy.precision.compute).value_or(device.vector_peak);
}

/// Sizes that follow from the workload: the sequence in use and the padded vocabulary.
void settle_model(Scenario& s) {
  if (s.model.family != models::Family::vision) {
    if (s.model.sequence == 0) { s.model.sequence = s.workload.sequence; }
    if (s.model.positions == models::Positions::learned && s.model.max_positions == 0) {
      s.model.max_positions = std::max(s.model.sequence, s.workload.decoder_sequence);
    }
  }
  s.strategy.experts.experts = static_cast<int>(std::max<std::int64_t>(1, s.model.moe.experts));
  s.strategy.experts.chosen = static_cast<int>(std::max<std::int64_t>(1, s.model.moe.top_k));
  s.strategy.experts.nodes = nodes_of_experts(s);
  settle_shadowing(s);
  s.unpadded_vocab = s.model.vocab;
  s.model.vocab = padded_vocab(s.model.vocab, s.workload.vocab_multiple,
                               s.strategy.vocabulary_parallel ? s.strategy.tensor : 1);
}

std::vector<std::string> read_texts(const Place& place) {
  std::vector<std::string> texts;
  for (const Place& entry : read_entries(place)) { texts.push_back(read_text(entry)); }
  return texts;
}

/// Whether the rules between a scenario's parts are looked at.
enum class Rules : std::uint8_t { kept, open };

/// One scenario; only whole when no problem was found.
Scenario read_one(const Json& document, const fs::path& file, Problems& problems,
                  Rules rules = Rules::kept) {
  const Source source{.problems = &problems};
  Reader in(Place{&document, "", &source});
  if (!in.readable()) { return {}; }
  const fs::path folder = file.parent_path();
  Scenario s;
  s.name = read_text(in.take("name"), file.stem().string());
  s.description = read_text(in.take("description"), "");
  s.assumptions = read_texts(in.take("assumptions"));
  s.model = read_model(in.take("model"), folder);
  s.workload = read_workload(in.take("workload"));
  const Place cluster_place = in.take("cluster");
  ClusterInput cluster = read_cluster_input(cluster_place, folder);
  StageOrderInput stage_order;
  s.strategy = read_strategy(in.take("strategy"), in.take("precision"), folder, stage_order);
  s.fold = read_choice(in.take("fold"), kFolds, 0) == 0 ? Fold::automatic : Fold::none;
  const StragglersInput stragglers = read_stragglers(in.take("stragglers"));
  s.jitter = stragglers.jitter;
  s.allowance = read_real(in.take("memory_allowance"), {.least = 0.0, .most = 1.0}, 0.0);
  in.take("compare");
  in.finish();
  if (rules == Rules::kept) {
    check_scenario(s, stated_devices(cluster, problems), problems);
    check_async(s, problems);
    check_slices(s, problems);
  }
  if (problems.empty()) {
    s.cluster = build_cluster(std::move(cluster), cluster_place);
    if (rules == Rules::kept) { check_hosts(s, problems); }
  }
  if (rules == Rules::open && (stage_order.by_topology || !s.strategy.stage_places.empty())) {
    problems.add({.path = "/strategy/stage_order",
                  .found = "an order of the stages",
                  .expected = "nothing where degrees are yet to be chosen",
                  .hint = {},
                  .file = {}});
  }
  if (s.strategy.schedule == "terapipe" && s.cluster.devices.size() > 1) {
    cluster_place.fail("several kinds of device", "one with schedule \"terapipe\"");
  }
  if (problems.empty()) { s.slowdown = slowdowns(stragglers, s.cluster.topology); }
  if (problems.empty()) {
    settle_model(s);
    settle_stage_order(stage_order, s);
    if (rules == Rules::kept) { warn_of_doubtful(s, problems); }
  }
  s.warnings = problems.warnings();
  return s;
}

struct VariantText {
  std::string name;
  Json document;
};

/// The document of one variant: the scenario's own with the variant's values set.
VariantText read_variant(const Place& place, const Json& base, Problems& problems) {
  Reader in(place);
  VariantText variant{read_text(in.take("name")), base};
  variant.document.erase("compare");
  const Place set = in.take("set");
  if (!set.present() || !set.value->is_object() || set.value->empty()) {
    set.fail(set.present() && set.value->is_object() ? "an empty object" : set.found(),
             "an object such as {\"/strategy/tensor\": 4}");
  } else {
    for (const auto& [pointer, value] : set.value->items()) {
      set_at(variant.document, pointer, value, problems, set.path);
    }
  }
  in.finish();
  return variant;
}

/// Reads the variants; what is wrong with the scenario itself is not told again for each.
std::vector<ScenarioFile::Variant> read_variants(const Json& document, const fs::path& file,
                                                 Problems& problems) {
  std::vector<ScenarioFile::Variant> variants;
  const std::vector<InputError> of_base = problems.errors();
  const Source source{.problems = &problems};
  Reader in(Place{&document, "", &source});
  std::set<std::string> names;
  for (const Place& place : read_entries(in.take("compare"))) {
    const std::size_t before = problems.errors().size();
    const VariantText variant = read_variant(place, document, problems);
    if (!names.insert(variant.name).second) {
      place.fail("a second variant named " + in_quotes(variant.name), "names that differ");
    }
    if (problems.errors().size() != before) { continue; }
    Problems own;
    Scenario scenario = read_one(variant.document, file, own);
    for (InputError error : own.errors()) {
      if (std::find(of_base.begin(), of_base.end(), error) != of_base.end()) { continue; }
      error.path = error.file.empty() ? place.path + error.path : error.path;
      problems.add(std::move(error));
    }
    variants.push_back({variant.name, std::move(scenario)});
  }
  return variants;
}

}  // namespace

ScenarioFile read_scenario_text(std::string_view text, const fs::path& file,
                                std::span<const std::string> overrides) {
  Problems problems;
  ScenarioFile result;
  std::optional<Json> document = parse_json(text, "", problems);
  if (document) {
    for (const std::string& assignment : overrides) {
      apply_override(*document, assignment, problems);
    }
    result.base = read_one(*document, file, problems);
    if (document->is_object()) { result.variants = read_variants(*document, file, problems); }
  }
  if (!problems.empty()) { throw InputErrors(file.string(), problems.errors()); }
  return result;
}

Scenario read_open_scenario(const Json& document, const fs::path& file, Problems& problems) {
  return read_one(document, file, problems, Rules::open);
}

ScenarioFile read_scenario_file(const fs::path& path, std::span<const std::string> overrides) {
  std::string why;
  const std::optional<std::string> text = file_text(path, why);
  if (!text) { throw InputErrors(path.string(), {{.path = {}, .found = why}}); }
  return read_scenario_text(*text, path, overrides);
}

}  // namespace tsim::sim
