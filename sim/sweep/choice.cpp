#include "sim/sweep/choice.hpp"

#include <algorithm>

#include "sim/input/rules/check_scenario.hpp"

namespace tsim::sim {
namespace {

using strategies::Recompute;
using strategies::Schedule;

constexpr std::array<FieldEntry, kFields> kFieldEntries{{
    {Field::flash_attention, "/strategy/flash_attention", "flash_attention"},
    {Field::overlap_tensor, "/strategy/overlap_tensor", "overlap_tensor"},
    {Field::scatter_gather, "/strategy/scatter_gather", "scatter_gather"},
    {Field::overlap_gradients, "/strategy/overlap_gradients", "overlap_gradients"},
    {Field::sequence_parallel, "/strategy/sequence_parallel", "sequence_parallel"},
    {Field::recompute, "/strategy/recompute", "recompute"},
    {Field::micro_batch, "/workload/micro_batch", "micro_batch"},
    {Field::tensor, "/strategy/tensor", "tensor"},
    {Field::context, "/strategy/context", "context"},
    {Field::pipeline, "/strategy/pipeline", "pipeline"},
    {Field::chunks, "/strategy/chunks", "chunks"},
    {Field::data, "/strategy/data", "data"},
    {Field::zero, "/strategy/zero", "zero"},
    {Field::overlap_parameters, "/strategy/overlap_parameters", "overlap_parameters"},
    {Field::schedule, "/strategy/schedule", "schedule"},
    {Field::global_batch, "/workload/global_batch", "global_batch"},
}};

int small(std::int64_t value) { return static_cast<int>(value); }

}  // namespace

const std::array<FieldEntry, kFields>& fields() { return kFieldEntries; }

std::optional<Field> field_at(std::string_view pointer) {
  const auto* const found = std::ranges::find(kFieldEntries, pointer, &FieldEntry::pointer);
  return found == kFieldEntries.end() ? std::nullopt : std::optional(found->field);
}

Choice choice_of(const Scenario& scenario) {
  const strategies::Strategy& s = scenario.strategy;
  const Schedule* const named = strategies::schedule_named(s.schedule);
  Choice c;
  c[Field::flash_attention] = s.flash_attention ? 1 : 0;
  c[Field::overlap_tensor] = s.overlap_tensor ? 1 : 0;
  c[Field::scatter_gather] = s.scatter_gather ? 1 : 0;
  c[Field::overlap_gradients] = s.overlap_gradients ? 1 : 0;
  c[Field::sequence_parallel] = s.sequence_parallel ? 1 : 0;
  c[Field::recompute] = static_cast<std::int64_t>(s.recompute);
  c[Field::micro_batch] = scenario.workload.micro_batch;
  c[Field::tensor] = s.tensor;
  c[Field::context] = s.context;
  c[Field::pipeline] = s.pipeline;
  c[Field::chunks] = s.chunks;
  c[Field::data] = s.data;
  c[Field::zero] = s.zero.stage;
  c[Field::overlap_parameters] = s.overlap_parameters ? 1 : 0;
  c[Field::schedule] = named == nullptr ? 0 : named - strategies::schedules().data();
  c[Field::global_batch] = scenario.workload.global_batch;
  return c;
}

void apply(const Choice& c, Scenario& scenario) {
  strategies::Strategy& s = scenario.strategy;
  s.flash_attention = c[Field::flash_attention] != 0;
  s.overlap_tensor = c[Field::overlap_tensor] != 0;
  s.scatter_gather = c[Field::scatter_gather] != 0;
  s.overlap_gradients = c[Field::overlap_gradients] != 0;
  s.sequence_parallel = c[Field::sequence_parallel] != 0;
  s.recompute = static_cast<Recompute>(c[Field::recompute]);
  scenario.workload.micro_batch = c[Field::micro_batch];
  s.tensor = small(c[Field::tensor]);
  s.context = small(c[Field::context]);
  s.pipeline = small(c[Field::pipeline]);
  s.chunks = small(c[Field::chunks]);
  s.data = small(c[Field::data]);
  s.zero.stage = small(c[Field::zero]);
  s.overlap_parameters = c[Field::overlap_parameters] != 0;
  s.schedule = schedule_of(c).name;
  scenario.workload.global_batch = c[Field::global_batch];
  scenario.model.vocab =
      padded_vocab(scenario.unpadded_vocab, scenario.workload.vocab_multiple, s.tensor);
}

std::int64_t ranks(const Choice& c) {
  return c[Field::tensor] * c[Field::pipeline] * c[Field::data] * c[Field::context];
}

const Schedule& schedule_of(const Choice& c) {
  return strategies::schedules()[static_cast<std::size_t>(c[Field::schedule])];
}

}  // namespace tsim::sim
