// Rules of layers that are split over a grid, or operator by operator.
#include <algorithm>
#include <set>

#include "sim/input/rules/check.hpp"
#include "sim/input/rules/check_scenario.hpp"
#include "sim/input/rules/divisors.hpp"
#include "sim/input/suggest.hpp"
#include "strategies/tensor/operator_cut.hpp"
#include "strategies/tensor/tensor_layout.hpp"

namespace tsim::sim {
namespace {

using models::ModelConfig;
using strategies::Strategy;

/// Keys that make no sense beside a grid or cuts of operators.
void check_keys(const Check& check, const char* beside) {
  const Strategy& s = check.scenario.strategy;
  const auto none = [&](const char* key, bool used) {
    if (used) {
      check.fail("/strategy/" + std::string(key), "true", "false " + std::string(beside));
    }
  };
  none("scatter_gather", s.scatter_gather);
  if (is_grid(s.grid)) { none("sequence_parallel", s.sequence_parallel); }
  if (!s.vocabulary_parallel) {
    check.fail("/strategy/vocabulary_parallel", "false", "true " + std::string(beside));
  }
  if (s.context > 1) {
    check.fail("/strategy/context", text(s.context), "1 " + std::string(beside));
  }
}

/// What a grid divides: samples over rows and layers, the rest over columns.
void check_grid(const Check& check) {
  const Strategy& s = check.scenario.strategy;
  const ModelConfig& m = check.scenario.model;
  const int side = s.grid.side;
  check_keys(check, "with a grid, which divides activations already");
  if (!s.operators.empty()) {
    check.fail("/strategy/operators", "cuts of operators", "nothing with a grid");
  }
  if (m.family == models::Family::vision) {
    check.fail("/strategy/tensor_layout", "a grid", "\"1d\" for a vision model");
  }
  const std::int64_t step = std::int64_t{side} * s.grid.depth;
  const std::int64_t batch = check.scenario.workload.micro_batch;
  if (batch % step != 0) {
    check.fail("/workload/micro_batch", text(batch),
               "a multiple of side*depth = " + text(side) + "*" + text(s.grid.depth) + " = " +
                   text(step) + ", as samples are divided over the grid's rows and layers",
               "nearest valid: " + nearest_multiples(batch, step));
  }
  const auto divide = [&](std::int64_t n, const char* what) {
    if (n % side == 0) { return; }
    check.fail("/strategy/tensor_layout", "a grid of side " + text(side),
               "a side that divides " + text(n) + " (" + what +
                   " of the model): " + list_text(divisors(n)));
  };
  divide(m.hidden, "hidden");
  divide(m.heads, "attention heads");
  if (m.kv_heads != m.heads) { divide(m.kv_heads, "key/value heads"); }
  divide(m.ffn, "ffn");
}

models::Model model_of(const Scenario& s) {
  return build_model(s.model, {.micro_batch = s.workload.micro_batch,
                               .sequence = s.workload.sequence,
                               .decoder_sequence = s.workload.decoder_sequence,
                               .compute = s.strategy.precision.compute,
                               .flash_attention = s.strategy.flash_attention,
                               .dropout = s.workload.dropout && s.workload.training,
                               .loss = s.workload.training});
}

void check_cut(const Check& check, const models::Model& model, const std::string& name,
               const strategies::OperandFactors& factors) {
  std::set<std::string> known;
  bool found = false;
  for (const models::Block& block : model.blocks) {
    for (const models::Op& op : block.graph.ops) {
      known.insert(op.name);
      if (op.name != name) { continue; }
      found = true;
      const auto cut =
          strategies::axis_cut(block.graph, op, factors, check.scenario.strategy.tensor);
      if (!cut.problem) { continue; }
      check.fail("/strategy/operators/" + name, cut.problem->found, cut.problem->expected,
                 cut.problem->hint);
      return;
    }
  }
  if (found) { return; }
  const std::vector<std::string_view> names(known.begin(), known.end());
  check.fail("/strategy/operators/" + name, "an unknown operator", "one of " + join(names),
             did_you_mean(name, names));
}

void check_operators(const Check& check) {
  const Strategy& s = check.scenario.strategy;
  check_keys(check, "with operators, whose layouts decide what is divided");
  if (!strategies::is_power_of_two(s.tensor)) {
    check.fail("/strategy/tensor", text(s.tensor), "a power of two with operators");
    return;
  }
  if (!check.clean({"/model", "/workload"})) { return; }
  const models::Model model = model_of(check.scenario);
  for (const auto& [name, factors] : s.operators) { check_cut(check, model, name, factors); }
}

}  // namespace

void check_tensor_split(const Check& check) {
  if (!check.clean({"/model", "/strategy", "/workload/micro_batch"})) { return; }
  const Scenario& s = check.scenario;
  const std::int64_t rows = s.workload.micro_batch * tokens_of(s.model, s.workload);
  if (rows > 0 && s.strategy.tensor_chunks > rows) {
    check.fail("/strategy/tensor_chunks", text(s.strategy.tensor_chunks),
               "at most " + text(rows) + " (tokens of a micro-batch)");
  }
  if (is_grid(s.strategy.grid)) {
    check_grid(check);
  } else if (!s.strategy.operators.empty()) {
    check_operators(check);
  }
}

}  // namespace tsim::sim
