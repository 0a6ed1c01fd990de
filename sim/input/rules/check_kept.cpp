// Rules of operators that run again, or keep what they need in another format.
#include <algorithm>
#include <set>

#include "models/kept_format.hpp"
#include "sim/input/rules/check.hpp"
#include "sim/input/suggest.hpp"
#include "sim/simulation.hpp"

namespace tsim::sim {
namespace {

/// What may be said of the model's layers: names, parts and kinds of their operators.
struct Known {
  std::set<std::string, std::less<>> names;
  std::set<std::string_view> groups;  // parts and kinds
};

Known known_operators(const Scenario& scenario) {
  Known known;
  for (const models::Block& block : build_model(scenario.model, build_options(scenario)).blocks) {
    const bool layer =
        block.kind == models::BlockKind::layer || block.kind == models::BlockKind::decoder_layer;
    if (!layer) { continue; }
    for (const models::Op& op : block.graph.ops) {
      known.names.insert(op.name);
      known.groups.insert(name_of(op.part));
      known.groups.insert(name_of(op.kind));
    }
  }
  return known;
}

void check_name(const Check& check, const std::string& path, const std::string& name,
                const Known& known) {
  if (known.names.contains(name) || known.groups.contains(name)) { return; }
  const std::vector<std::string_view> names(known.names.begin(), known.names.end());
  const std::vector<std::string_view> groups(known.groups.begin(), known.groups.end());
  std::string hint = did_you_mean(name, names);
  if (hint.empty()) { hint = did_you_mean(name, groups); }
  check.fail(path, in_quotes(name),
             "an operator of the model's layers, or all of a part or kind: " + join(names) + "; " +
                 join(groups),
             hint);
}

}  // namespace

void check_kept(const Check& check) {
  const strategies::Strategy& s = check.scenario.strategy;
  if (s.recompute_operators.empty() && s.precision.kept.empty()) { return; }
  if (!check.clean({"/model", "/workload", "/strategy", "/precision"})) { return; }
  const Known known = known_operators(check.scenario);
  const bool all = s.recompute_method == strategies::RecomputeMethod::every;
  const std::string list = std::string("/strategy/recompute/") + (all ? "" : "kind/");
  for (std::size_t i = 0; i < s.recompute_operators.size(); ++i) {
    check_name(check, list + std::to_string(i), s.recompute_operators[i], known);
  }
  for (const models::KeptFormat& kept : s.precision.kept) {
    check_name(check, "/precision/kept/" + kept.operators, kept.operators, known);
  }
}

}  // namespace tsim::sim
