// Rules of experts that are spread over ranks.
#include <algorithm>

#include "sim/input/read_routing.hpp"
#include "sim/input/rules/check.hpp"
#include "sim/input/rules/check_scenario.hpp"
#include "sim/input/rules/divisors.hpp"
#include "strategies/experts.hpp"
#include "strategies/schedule.hpp"

namespace tsim::sim {
namespace {

using strategies::ExpertParallel;
using strategies::Strategy;

/// Ranks of one stage, as text, too.
struct Plane {
  std::int64_t ranks = 1;
  std::string names = "tensor*data", sizes;
};

Plane plane_of(const Strategy& s) {
  Plane plane{.ranks = plane_size(s), .sizes = text(s.tensor) + "*" + text(s.data)};
  if (s.context > 1) {
    plane.names += "*context";
    plane.sizes += "*" + text(s.context);
  }
  return plane;
}

void check_dense(const Check& check) {
  const ExpertParallel& e = check.scenario.strategy.experts;
  const auto fail = [&](const char* key, const std::string& found) {
    check.fail(key, found, "nothing, as the model has no experts");
  };
  if (e.ranks > 1) { fail("/strategy/expert", text(e.ranks)); }
  if (e.tensor > 0) { fail("/strategy/expert_tensor", text(e.tensor)); }
  const bool moe = e.dispatch != strategies::Dispatch::direct || e.dispatch_format ||
                   e.combine_format || e.scales_early || e.shadowing.on ||
                   e.routing != models::RoutingSpec{};
  if (moe) { fail("/strategy/moe", "an object"); }
}

/// A part of every layer's experts for each rank.
void check_experts_divide(const Check& check) {
  const std::int64_t ranks = check.scenario.strategy.experts.ranks;
  for (const std::int64_t experts : layer_experts(check.scenario.model)) {
    if (experts % ranks == 0) { continue; }
    check.fail(
        "/strategy/expert", text(ranks),
        "a divisor of " + text(experts) + " (experts of a layer): " + list_text(divisors(experts)));
    return;
  }
}

/// expert_tensor x expert ranks hold all experts once; copies fill the ranks of the stage.
void check_expert_ranks(const Check& check) {
  const Strategy& s = check.scenario.strategy;
  const std::int64_t split = expert_tensor(s);
  const std::int64_t ranks = split * s.experts.ranks;
  const Plane plane = plane_of(s);
  const std::string product = text(split) + "*" + text(s.experts.ranks) + " = " + text(ranks);
  const bool left_out = s.experts.tensor == 0 && s.tensor > 1;
  if (plane.ranks % ranks != 0) {
    check.fail("/strategy/expert",
               "expert_tensor*expert = " + product +
                   (left_out ? " (expert_tensor was left out: as tensor)" : ""),
               "a divisor of " + plane.names + " = " + plane.sizes + " = " + text(plane.ranks) +
                   " (ranks of a stage): " + list_text(divisors(plane.ranks)),
               left_out && plane.ranks % s.experts.ranks == 0
                   ? "expert_tensor = 1 gives " + text(s.experts.ranks)
                   : "");
    return;
  }
  const auto aligned = [&](std::int64_t n) { return n % s.tensor == 0 || s.tensor % n == 0; };
  if (!aligned(split) || !aligned(ranks)) {
    check.fail("/strategy/expert", "expert_tensor*expert = " + product,
               "expert_tensor, and expert_tensor*expert, that divide tensor = " + text(s.tensor) +
                   " or are multiples of it");
  }
}

void check_columns(const Check& check) {
  const std::int64_t split = expert_tensor(check.scenario.strategy);
  const std::int64_t ffn = check.scenario.model.moe.ffn;
  if (ffn % split == 0) { return; }
  check.fail("/strategy/expert_tensor", text(split),
             "a divisor of " + text(ffn) + " (columns of an expert)");
}

/// Tensor ranks that send a part of the tokens each.
void check_token_parts(const Check& check) {
  const Scenario& s = check.scenario;
  if (!cuts_tokens(s.strategy) || s.strategy.sequence_parallel || s.strategy.tensor == 1) {
    return;
  }
  const std::int64_t tokens =
      s.workload.micro_batch * tokens_of(s.model, s.workload) / s.strategy.context;
  if (tokens % s.strategy.tensor == 0) { return; }
  check.fail("/strategy/tensor", text(s.strategy.tensor),
             "a divisor of " + text(tokens) + " (tokens of a micro-batch), as each tensor rank " +
                 "sends a part of them to the experts");
}

/// Experts that come to the tokens.
void check_shadows(const Check& check) {
  const Strategy& s = check.scenario.strategy;
  if (!s.experts.shadowing.on) { return; }
  const auto fail = [&](const std::string& why) {
    check.fail("/strategy/moe/shadow", "true", "false " + why);
  };
  if (s.experts.ranks == 1) { fail("with expert = 1: all experts are here"); }
  if (capacity_factor(s.experts) > 0) {
    fail("with a capacity, whose buffers are computed whole, whatever the load");
  }
  if (s.experts.dispatch == strategies::Dispatch::all_gather) {
    fail("with dispatch \"all_gather\", which brings all tokens to all experts");
  }
  const strategies::Schedule* const named = strategies::schedule_named(s.schedule);
  if (named == nullptr || named->splits_backward) {
    fail("with a schedule that splits the backward, or one of its own");
  }
}

/// What is not done for experts.
void check_beside(const Check& check) {
  const Strategy& s = check.scenario.strategy;
  const auto fail = [&](const char* key, const std::string& found, const std::string& expected) {
    check.fail(key, found, expected + " for a model with experts");
  };
  if (is_grid(s.grid)) { fail("/strategy/tensor_grid", "a grid", "nothing"); }
  if (!s.operators.empty()) { fail("/strategy/operators", "cuts", "nothing"); }
  if (s.async.through_servers) { fail("/strategy/data_parallel", "servers", "collectives"); }
  if (s.schedule == "terapipe") { fail("/strategy/schedule", "\"terapipe\"", "another schedule"); }
  if (is_unbalanced(s.experts) && is_uneven(s, check.scenario.model.causal)) {
    fail("/strategy/zigzag", "false", "true with an uneven routing");
  }
  if (!spreads_experts(s)) { return; }
  if (s.zero.stage == 3 && expert_replicas(s) > 1) {
    fail("/strategy/zero", "3",
         "0, 1 or 2 with " + text(expert_replicas(s)) +
             " copies of every expert (expert = " + text(s.experts.ranks) + ")");
  }
  if (s.zero.shard_group > 0) {
    fail("/strategy/zero/shard_group", text(s.zero.shard_group),
         "nothing with expert = " + text(s.experts.ranks));
  }
  if (steps_on_host(s)) {
    fail("/strategy/offload", "an optimizer on the host",
         "one on the device with expert = " + text(s.experts.ranks));
  }
  if (s.zero.stage > 0 && s.overlap_parameters) {
    fail("/strategy/overlap_parameters", "true", "false with expert = " + text(s.experts.ranks));
  }
}

}  // namespace

void check_experts(const Check& check) {
  if (!check.clean({"/model", "/strategy/tensor", "/strategy/data", "/strategy/context",
                    "/strategy/expert", "/strategy/expert_tensor", "/strategy/moe"})) {
    return;
  }
  if (check.scenario.model.moe.experts == 0) {
    check_dense(check);
    return;
  }
  check_experts_divide(check);
  check_expert_ranks(check);
  check_columns(check);
  check_routing(check.scenario.strategy.experts.routing, check.scenario.model,
                "/strategy/moe/routing", check.problems);
  if (check.clean({"/workload"})) { check_token_parts(check); }
  if (check.clean({"/strategy"})) {
    check_beside(check);
    check_shadows(check);
  }
}

}  // namespace tsim::sim
