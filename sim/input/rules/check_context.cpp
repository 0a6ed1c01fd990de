// Rules of ranks that divide the sequence.
#include "sim/input/rules/check.hpp"
#include "sim/input/rules/check_scenario.hpp"
#include "sim/input/rules/divisors.hpp"

namespace tsim::sim {
namespace {

using models::Family;
using strategies::ContextAttention;
using strategies::Strategy;

/// Heads are dealt to tensor and context ranks after the all-to-all.
void check_ulysses(const Check& check) {
  const Strategy& s = check.scenario.strategy;
  const models::ModelConfig& m = check.scenario.model;
  const std::int64_t ranks = std::int64_t{s.tensor} * s.context;
  if (m.heads % ranks == 0) { return; }
  check.fail(
      "/strategy/context", text(s.context),
      "tensor*context = " + text(ranks) + " to be a divisor of " + text(m.heads) +
          " (attention heads of the model) with \"ulysses\": " + list_text(divisors(m.heads)),
      "\"ring\" has no such rule");
}

/// Parts of the sequence are of one size; zigzag gives each rank two.
void check_parts(const Check& check) {
  const Scenario& s = check.scenario;
  const bool halves = s.strategy.zigzag && s.model.causal;
  const std::int64_t cut = s.strategy.sequence_parallel ? s.strategy.tensor : 1;
  const std::int64_t parts = s.strategy.context * cut * (halves ? 2 : 1);
  const std::int64_t length = tokens_of(s.model, s.workload);
  if (length % parts == 0) { return; }
  check.fail("/workload/sequence", text(length),
             "a multiple of " + text(parts) + " (context" + (cut > 1 ? "*tensor" : "") +
                 (halves ? "*2 with zigzag" : "") + ")",
             "nearest valid: " + nearest_multiples(length, parts));
}

}  // namespace

void check_context(const Check& check) {
  const Scenario& s = check.scenario;
  if (s.strategy.context == 1 || !check.clean({"/model", "/workload", "/strategy"})) { return; }
  const ContextAttention attention = s.strategy.context_attention;
  const bool one_sequence = s.model.family == Family::encoder || s.model.family == Family::decoder;
  if (!one_sequence) {
    check.fail("/strategy/context", text(s.strategy.context),
               "1 for this model: context ranks divide one sequence of tokens");
    return;
  }
  if (attention == ContextAttention::ring && !s.strategy.flash_attention) {
    check.fail("/strategy/flash_attention", "false",
               "true with context ranks in a ring, which add up parts of the softmax",
               R"(or context_attention "all_gather" or "ulysses")");
  }
  if (attention == ContextAttention::ulysses) { check_ulysses(check); }
  check_parts(check);
}

}  // namespace tsim::sim
