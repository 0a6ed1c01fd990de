// Rules of states that are sharded over replicas.
#include "sim/input/rules/check.hpp"
#include "sim/input/rules/divisors.hpp"
#include "strategies/memory.hpp"
#include "strategies/schedule.hpp"

namespace tsim::sim {
namespace {

using strategies::Strategy;
using strategies::Zero;

/// A key of /strategy/zero that stage `least` and the ones above know.
void need_stage(const Check& check, const char* key, bool used, int least) {
  const int stage = check.scenario.strategy.zero.stage;
  if (!used || stage >= least) { return; }
  check.fail("/strategy/zero/" + std::string(key), "a value", "nothing at stage " + text(stage),
             least == 3 ? "stage 3 knows it" : "stages from " + text(least) + " on know it");
}

void check_keys(const Check& check) {
  const Zero& z = check.scenario.strategy.zero;
  need_stage(check, "shard_group", z.shard_group > 0, 1);
  need_stage(check, "persistence", z.persistence > 0, 3);
  need_stage(check, "reshard", !z.reshard, 3);
  need_stage(check, "secondary_group", z.secondary_group > 0, 3);
  need_stage(check, "weights_on_wire", z.weight_bits > 0, 3);
  need_stage(check, "gradients_on_wire", z.gradient_bits > 0, 2);
}

/// A group divides what it is a group of.
void check_groups(const Check& check) {
  const Strategy& s = check.scenario.strategy;
  const int all = replica_count(s);
  const auto divides = [&](const char* key, int group, int whole, const char* what) {
    if (group == 0 || whole % group == 0) { return; }
    check.fail("/strategy/zero/" + std::string(key), text(group),
               "a divisor of " + text(whole) + " (" + what + "): " + list_text(divisors(whole)));
  };
  divides("shard_group", s.zero.shard_group, all, "replicas: data*context");
  const bool whole = s.zero.shard_group == 0 || all % s.zero.shard_group != 0;
  divides("secondary_group", s.zero.secondary_group, whole ? all : s.zero.shard_group,
          "replicas that share one copy");
}

/// Stages 2 and 3 communicate in every micro-batch, of which a pipeline has many.
void check_pipeline(const Check& check) {
  const Strategy& s = check.scenario.strategy;
  const bool twice = strategies::shape_of(s, 1).placement == strategies::Placement::bidirectional;
  if (s.pipeline > 1 && !s.zero.with_pipeline) {
    check.fail("/strategy/zero", text(s.zero.stage),
               "0 or 1 with pipeline = " + text(s.pipeline) +
                   ", as each micro-batch would communicate all gradients" +
                   (s.zero.stage == 3 ? " and parameters" : ""),
               "{\"stage\": " + text(s.zero.stage) + ", \"with_pipeline\": true} does it");
  } else if (twice) {
    check.fail("/strategy/zero", text(s.zero.stage),
               "0 or 1 with schedule \"" + s.schedule + "\", which holds the model twice");
  } else if (s.pipeline * s.chunks > 1 && !s.zero.reshard) {
    check.fail("/strategy/zero/reshard", "false",
               "true with a pipeline, as several micro-batches would keep parameters gathered");
  }
}

void check_sync(const Check& check) {
  const Strategy& s = check.scenario.strategy;
  if (s.overlap_parameters && (s.zero.stage < 1 || s.zero.stage > 2)) {
    check.fail("/strategy/overlap_parameters", "true", "false with zero = " + text(s.zero.stage),
               "it moves the all-gather of stages 1 and 2");
  }
  const bool twice = strategies::shape_of(s, 1).placement == strategies::Placement::bidirectional;
  if (twice && (sends_in_programs(s) || s.overlap_parameters)) {
    check.fail("/strategy", "gradients or parameters that are sent in each phase",
               "nothing of that with schedule \"" + s.schedule + "\", which holds the model twice",
               "gradient_sync, zero.shard_group and overlap_parameters are such");
  }
  if (!s.overlap_gradients && sends_in_programs(s)) {
    check.fail("/strategy/overlap_gradients", "false",
               "true where each backward sends its gradients");
  }
  if (steps_each(s) && (s.gradient_sync != strategies::GradientSync::automatic)) {
    check.fail(
        "/strategy/gradient_sync", "\"" + std::string(name_of(s.gradient_sync)) + "\"",
        "nothing with schedule \"" + s.schedule + "\", whose stages step after every micro-batch");
  }
}

}  // namespace

void check_zero(const Check& check) {
  if (!check.clean({"/strategy"})) { return; }
  check_keys(check);
  check_groups(check);
  if (check.scenario.strategy.zero.stage >= 2) { check_pipeline(check); }
  check_sync(check);
}

}  // namespace tsim::sim
