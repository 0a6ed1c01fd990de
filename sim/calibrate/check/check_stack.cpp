#include "sim/calibrate/check/check_stack.hpp"

#include <algorithm>

#include "sim/input/json_reader.hpp"
#include "strategies/memory.hpp"

namespace tsim::calibrate {
namespace {

using sim::Scenario;

/// One thing that a stack is, and whether the scenario is it too.
struct Demand {
  bool met;
  const char* path;
  const char* found;
  const char* expected;
};

std::vector<Demand> model_demands(const models::ModelConfig& m) {
  using models::Activation;
  using models::Family;
  using models::Norm;
  using models::NormPlace;
  using models::Positions;
  return {
      {m.family == Family::decoder || m.family == Family::encoder, "/model", "another family",
       "a decoder or an encoder"},
      {m.norm == Norm::layer_norm && m.norm_place == NormPlace::pre, "/model", "other norms",
       "layer norms before the sublayers"},
      {m.activation == Activation::gelu, "/model", "another activation", "gelu"},
      {m.positions == Positions::learned, "/model", "other positions", "a learned table"},
      {m.bias && m.qkv_bias && !m.head_bias, "/model", "other biases",
       "a bias of each projection but the head"},
      {m.kv_heads == m.heads && m.head_dim * m.heads == m.hidden, "/model", "other heads",
       "as many key/value heads as heads, together as wide as the model"},
      {m.tied_embedding && m.head && m.final_norm && !m.parallel_residual && !m.head_transform &&
           !m.pooler && !m.embedding_norm && !m.qk_norm && !m.query_layer && m.types == 0,
       "/model", "other parts", "GPT-2's: a final norm and a head tied to the embedding"},
      {m.vocab % 8 == 0, "/workload/vocab_multiple", "a vocabulary that 8 does not divide",
       "a multiple of 8"},
  };
}

std::vector<Demand> other_demands(const Scenario& s) {
  const strategies::Strategy& strategy = s.strategy;
  const bool dropout = s.workload.dropout && (s.model.dropout > 0 || s.model.attention_dropout > 0);
  return {
      {s.workload.training, "/workload/mode", "forward", "train"},
      {!dropout, "/workload/dropout", "true", "false"},
      {strategy.context == 1 && !strategy.sequence_parallel && strategy.chunks == 1 &&
           strategy.tensor_chunks == 1,
       "/strategy", "another split of the work",
       "tensor ranks, a pipeline of one chunk each, replicas and expert ranks"},
      {strategy.recompute == strategies::Recompute::none, "/strategy/recompute", "recomputation",
       "none"},
      {strategies::state_shards(strategy) == 1, "/strategy/zero", "sharded states", "0"},
  };
}

/// Of ranks that split layers, and of stages.
std::vector<Demand> rank_demands(const Scenario& s) {
  const strategies::Strategy& strategy = s.strategy;
  const bool staged = strategy.pipeline > 1;
  return {
      {strategy.tensor == 1 || !strategy.overlap_tensor, "/strategy/overlap_tensor", "true",
       "false: the stack's sums over tensor ranks are awaited"},
      {strategy.tensor == 1 || !strategy.vocabulary_parallel, "/strategy/vocabulary_parallel",
       "true", "false: the stack's tensor ranks hold the whole vocabulary"},
      {staged || micro_batches(s) == 1, "/workload/global_batch", "several micro-batches",
       "micro_batch times data, without a pipeline"},
      {!staged || (strategy.data == 1 && s.model.layers % strategy.pipeline == 0),
       "/strategy/pipeline", "replicas of a pipeline, or stages of unequal length",
       "one pipeline of equal stages"},
      {!staged || strategy.schedule == "1f1b", "/strategy/schedule", "another schedule", "1f1b"},
      {!staged || strategy.eager_accumulation, "/strategy/gradient_accumulation", "fused",
       "eager: the stack adds up micro-batches' gradients by kernels of their own"},
  };
}

std::vector<Demand> expert_demands(const Scenario& s) {
  const models::MoeConfig& moe = s.model.moe;
  if (moe.experts == 0) { return {}; }
  const strategies::ExpertParallel& experts = s.strategy.experts;
  const bool plain = moe.shared_experts == 0 && !moe.residual && moe.every == 1 &&
                     moe.first_dense == 0 && moe.layers.empty() && moe.experts_by_layer.empty() &&
                     !moe.router_bias && !moe.normalise_top_k;
  const std::int64_t tokens = s.workload.micro_batch * s.workload.sequence;
  return {
      {plain, "/model/moe", "other experts",
       "the same in every layer, chosen ones' shares of the softmax not normalised"},
      {s.strategy.tensor == 1, "/strategy/tensor", "ranks that split layers", "1 with experts"},
      {experts.dispatch == strategies::Dispatch::direct && !is_unbalanced(experts) &&
           capacity_factor(experts) == 0 && experts.chunks == 1,
       "/strategy/moe", "another way or load", "direct, each expert as often as another"},
      {moe.experts % 8 == 0 && tokens % moe.experts == 0, "/model/moe/experts",
       "experts that do not divide the tokens of a micro-batch, or no multiple of 8",
       "a multiple of 8 that does"},
  };
}

/// What a lookup's time counts for.
StackClass class_of(const sim::Lookup& lookup) {
  if (!lookup.subject) {
    return lookup.is_product ? StackClass::products : StackClass::elementwise;
  }
  switch (lookup.subject->series.kind) {
    case cost::PointKind::gemm:
    case cost::PointKind::grouped: return StackClass::products;
    case cost::PointKind::bmm:
    case cost::PointKind::softmax:
    case cost::PointKind::attention: return StackClass::attention;
    case cost::PointKind::layernorm: return StackClass::norms;
    case cost::PointKind::cross_entropy: return StackClass::loss;
    case cost::PointKind::adam: return StackClass::optimizer;
    default: return StackClass::elementwise;
  }
}

/// A number above 0 (from 0 on where `zero`).
double number(sim::Reader& in, const std::string& key, bool zero) {
  return sim::read_real(in.take(key), {.least = 0.0, .most = 1e18, .above = !zero});
}

std::string shape_lines(sim::Reader& in) {
  std::string lines;
  for (const StackCount& one : kStackCounts) {
    const auto fallback = one.required ? std::nullopt : std::optional<std::int64_t>(one.least);
    const std::int64_t count = sim::read_count(in.take(one.name), {.least = one.least}, fallback);
    lines += std::string(one.name) + " " + std::to_string(count) + "\n";
  }
  lines += "causal " + sim::read_text(in.take("causal"), "true") + "\n";
  return lines + "dtype " + sim::read_text(in.take("dtype")) + "\n";
}

}  // namespace

StackShape stack_of(const Scenario& scenario, sim::Problems& problems) {
  const models::ModelConfig& m = scenario.model;
  std::vector<Demand> demands = model_demands(m);
  for (const auto& more :
       {other_demands(scenario), rank_demands(scenario), expert_demands(scenario)}) {
    demands.insert(demands.end(), more.begin(), more.end());
  }
  for (const Demand& demand : demands) {
    if (demand.met) { continue; }
    problems.add({.path = demand.path, .found = demand.found, .expected = demand.expected});
  }
  return {.layers = m.layers,
          .hidden = m.hidden,
          .heads = m.heads,
          .ffn = m.moe.experts > 0 ? m.moe.ffn : m.ffn,
          .vocab = m.vocab,
          .sequence = scenario.workload.sequence > 0 ? scenario.workload.sequence : m.sequence,
          .batch = scenario.workload.micro_batch,
          .tensor = scenario.strategy.tensor,
          .data = scenario.strategy.data,
          .pipeline = scenario.strategy.pipeline,
          .micro_batches = micro_batches(scenario),
          .experts = m.moe.experts,
          .top_k = m.moe.experts > 0 ? m.moe.top_k : 1,
          .expert_ranks = scenario.strategy.experts.ranks,
          .causal = m.causal,
          .dtype = std::string(name_of(scenario.strategy.precision.compute))};
}

MeasuredStack read_measured_stack(const std::filesystem::path& file, sim::Problems& problems) {
  std::string why;
  const std::optional<std::string> text = sim::file_text(file, why);
  if (!text) {
    problems.add({.found = why});
    return {};
  }
  const sim::Json object = sim::Json::parse(*text, nullptr, false);
  if (!object.is_object() || object.value("tsim", "") != "check 1") {
    problems.add({.found = "another file",
                  .expected = "one line of `tsim-measure --check`, of this version"});
    return {};
  }
  const sim::Source source{.problems = &problems};
  sim::Reader in({.value = &object, .source = &source});
  MeasuredStack measured;
  std::vector<std::string> bad;
  measured.shape = read_stack(shape_lines(in), bad);
  for (const std::string& line : bad) { problems.add({.found = line}); }
  measured.times.step = number(in, "step_us", false) * 1e-6;
  for (std::size_t i = 0; i < kStackClasses; ++i) {
    const std::string key = std::string(name_of(static_cast<StackClass>(i))) + "_us";
    measured.times.classes[i] = number(in, key, true) * 1e-6;
  }
  measured.times.memory = number(in, "used_bytes", true);
  measured.times.first_loss = number(in, "first_loss", true);
  measured.times.last_loss = number(in, "last_loss", true);
  measured.times.steps = static_cast<int>(sim::read_count(in.take("steps"), {}));
  measured.device = sim::read_text(in.take("device"), "");  // other keys are the machine's facts
  return measured;
}

Check compare(const sim::Report& report, const StackTimes& measured) {
  std::array<double, kStackClasses> predicted{};
  for (const sim::Lookup& lookup : report.lookups) {
    predicted.at(static_cast<std::size_t>(class_of(lookup))) += lookup.time.value;
  }
  predicted.at(static_cast<std::size_t>(StackClass::communication)) =
      report.stages.front().times.exposed.value;
  Check check{.step = {"step", report.step.value, measured.step},
              .memory = {"memory", static_cast<double>(report.needed.value), measured.memory}};
  if (report.stages.size() > 1) { return check; }  // the first device's classes are its stage's
  for (std::size_t i = 0; i < kStackClasses; ++i) {
    if (predicted.at(i) <= 0 && measured.classes[i] <= 0) { continue; }
    check.classes.push_back(
        {std::string(name_of(static_cast<StackClass>(i))), predicted.at(i), measured.classes[i]});
  }
  return check;
}

}  // namespace tsim::calibrate
