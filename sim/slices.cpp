#include "sim/slices.hpp"

#include <algorithm>

#include "strategies/block_plan.hpp"
#include "strategies/token_slices.hpp"

namespace tsim::sim {
namespace {

constexpr std::int64_t kUnits = 64;  // pieces of a sequence that slices are made of, at most

std::int64_t sample_of(const Scenario& s) {
  return s.workload.sequence != 0 ? s.workload.sequence : s.model.sequence;
}

/// Options for one slice; those given are of whole samples of `sample` tokens.
models::BuildOptions sliced(models::BuildOptions options, std::int64_t sample, std::int64_t tokens,
                            std::int64_t before) {
  options.sample = sample;
  options.sequence = tokens;
  options.prefix = before;
  return options;
}

/// The largest divisor of the sequence that leaves kUnits pieces at most, and that `tensor` divides
/// where slices are split along the sequence, too.
std::int64_t unit_of(std::int64_t sequence, const strategies::Strategy& s) {
  const std::int64_t step = s.sequence_parallel ? s.tensor : 1;
  for (std::int64_t unit = step; unit < sequence; unit += step) {
    if (sequence % unit == 0 && sequence / unit <= kUnits) { return unit; }
  }
  return sequence;
}

/// Compute time of a slice in the stage of average layers that has the head, too: forward and
/// backward of one layer, as often as a stage has it, and of the head.
class SliceTimes {
 public:
  SliceTimes(const Scenario& scenario, const models::BuildOptions& options)
      : scenario_(scenario),
        options_(options),
        layers_(static_cast<double>(scenario.model.layers) / scenario.strategy.pipeline) {}

  double operator()(std::int64_t tokens, std::int64_t before) const {
    models::ModelConfig one = scenario_.model;
    one.layers = 1;
    const models::Model model =
        build_model(one, sliced(options_, sample_of(scenario_), tokens, before));
    const strategies::TensorSplit split = tensor_split(model, scenario_.strategy);
    double sum = 0;
    for (const models::Block& block : model.blocks) {
      const bool layer = block.kind == models::BlockKind::layer;
      if (!layer && block.kind != models::BlockKind::head) { continue; }
      const auto plan =
          plan_block(block, split, scenario_.strategy, scenario_.cluster.devices.front());
      for (const auto* pieces : {&plan.forward, &plan.backward}) {
        for (const strategies::Piece& piece : *pieces) {
          sum += (layer ? layers_ : 1.0) * piece.on_device.value;
        }
      }
    }
    return sum;
  }

 private:
  const Scenario& scenario_;
  const models::BuildOptions& options_;
  double layers_;
};

std::vector<std::int64_t> lengths(const Scenario& s, const models::BuildOptions& options) {
  if (!s.strategy.slice_tokens.empty()) { return s.strategy.slice_tokens; }
  const std::int64_t sequence = sample_of(s);
  const std::int64_t unit = unit_of(sequence, s.strategy);
  if (s.strategy.slices > 0) {
    const std::int64_t step = s.strategy.sequence_parallel ? s.strategy.tensor : 1;
    return strategies::even_slices(sequence, step, s.strategy.slices);
  }
  return strategies::balanced_slices({.sequence = sequence,
                                      .unit = unit,
                                      .stages = s.strategy.pipeline,
                                      .samples = static_cast<int>(micro_batches(s))},
                                     SliceTimes(s, options));
}

}  // namespace

Slices token_slices(const Scenario& scenario, const models::BuildOptions& options,
                    const std::vector<strategies::StagePlan>& whole) {
  Slices slices;
  if (scenario.strategy.schedule != "terapipe") { return slices; }
  slices.tokens = lengths(scenario, options);
  strategies::Strategy alike = scenario.strategy;
  alike.split = strategies::LayerSplit::list;
  alike.layers_per_stage.clear();
  for (const strategies::StagePlan& stage : whole) {
    alike.layers_per_stage.push_back(stage.chunks.front().layers);
  }
  std::int64_t before = 0;
  for (const std::int64_t tokens : slices.tokens) {
    const models::Model model =
        build_model(scenario.model, sliced(options, sample_of(scenario), tokens, before));
    slices.stages.push_back(plan_stages(model, alike, scenario.cluster.devices.front()));
    before += tokens;
  }
  return slices;
}

}  // namespace tsim::sim
