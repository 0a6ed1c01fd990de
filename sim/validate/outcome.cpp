#include "sim/validate/outcome.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "sim/input/input_error.hpp"
#include "sim/input/read_scenario.hpp"
#include "sim/net/net_run.hpp"
#include "sim/sweep/estimator.hpp"
#include "sim/validate/breakdown.hpp"

namespace tsim::validate {
namespace {

using strategies::MemoryClass;

/// Bytes of the rank that the source looked at, as it reads them: an allocator knows nothing of the
/// context.
double memory_of(const sim::Report& report, const Measured& measured) {
  double most = 0;
  for (const sim::StageReport& stage : report.stages) {
    double sum = 0;
    for (std::size_t c = 0; c < stage.peak.size(); ++c) {
      const bool outside = c == static_cast<std::size_t>(MemoryClass::reserved);
      if (!outside || measured.reading == MemoryReading::used) { sum += to_double(stage.peak[c]); }
    }
    most = std::max(most, sum);
    if (measured.first_stage) { break; }
  }
  return most;
}

void set_measured(const Measured& measured, const std::pair<double, double>& steps,
                  Outcome& outcome) {
  if (measured.figure == Figure::none) { return; }
  outcome.measured_low = std::min(steps.first, steps.second);
  outcome.measured_high = std::max(steps.first, steps.second);
}

void set_measured_step(const Measured& m, const sim::Scenario& scenario, Flops model_flops,
                       Outcome& outcome) {
  const Counted counted{device_count(scenario.cluster), model_flops};
  set_measured(m,
               {step_of(m, m.value - m.resolution / 2, scenario, counted),
                step_of(m, m.value + m.resolution / 2, scenario, counted)},
               outcome);
}

Outcome simulated(const Row& row, const sim::Scenario& scenario) {
  const sim::Simulation simulation = sim::run_scenario(scenario);
  const sim::Report report = summarise(scenario, simulation);
  Outcome outcome{.ran = true, .fits = report.fits, .step = report.step.value};
  if (report.closed_form) { outcome.closed_form = report.closed_form->value; }
  outcome.memory = memory_of(report, row.measured);
  set_measured_step(row.measured, scenario, report.model_flops, outcome);
  outcome.parts = breakdown(scenario, simulation, report);
  return outcome;
}

/// A step's FLOPs as papers count: the backward is twice the forward, but for frozen weights.
Flops model_flops_of(const sim::Scenario& scenario) {
  const models::Model model = models::build_model(scenario.model, sim::build_options(scenario));
  const double micro_batches = static_cast<double>(scenario.workload.global_batch) /
                               static_cast<double>(scenario.workload.micro_batch);
  return micro_batches *
         (scenario.workload.training ? training_model_flops(model) : forward_model_flops(model));
}

/// None for a schedule without a formula.
std::optional<Outcome> estimated(const Row& row, const sim::Scenario& scenario) {
  const strategies::Strategy& s = scenario.strategy;
  if (s.async.through_servers || s.schedule == "terapipe") { return std::nullopt; }
  const sim::Estimate estimate = sim::Estimator(scenario).planned();
  if (!estimate.known) { return std::nullopt; }
  Outcome outcome{.ran = true,
                  .by_formula = true,
                  .fits = estimate.fits,
                  .step = estimate.step,
                  .closed_form = estimate.step};
  const bool outside = row.measured.reading == MemoryReading::allocated;
  const Bytes reserved = scenario.cluster.devices.front().reserved;
  outcome.memory = to_double(Bytes{estimate.memory} - (outside ? reserved : Bytes{0}));
  const bool counts = row.measured.figure == Figure::model_flops;
  set_measured_step(row.measured, scenario, counts ? model_flops_of(scenario) : Flops{}, outcome);
  return outcome;
}

Outcome trained(const Row& row, const std::string& document, const Source& source, Tier tier) {
  const sim::ScenarioFile file = sim::read_scenario_text(document, source.file);
  if (tier == Tier::closed_form) {
    if (const auto outcome = estimated(row, file.base)) { return *outcome; }
  }
  return simulated(row, file.base);
}

Outcome communicated(const Row& row, const std::string& document, const Source& source) {
  const sim::TruthCollective asked = sim::read_truth_collective(document, source.file);
  cost::Router router(asked.cluster.topology);
  const sim::NetRow net = net_row(asked.request, asked.size, router);
  Outcome outcome{.ran = true, .step = net.time.value};
  const Measured& m = row.measured;
  const auto time = [&](double value) {
    if (m.figure == Figure::step) { return value; }
    return bus_bandwidth(net, asked.request.op) * net.time.value / value;  // bytes / rate
  };
  set_measured(m, {time(m.value - m.resolution / 2), time(m.value + m.resolution / 2)}, outcome);
  return outcome;
}

Outcome failed(const std::string& why) {
  Outcome outcome;
  std::strncpy(outcome.why.data(), why.c_str(), outcome.why.size() - 1);
  return outcome;
}

}  // namespace

std::string_view name_of(Part part) {
  static constexpr std::array<std::string_view, kParts> kNames{
      "products", "memory bound", "optimizer", "host",  "tensor",
      "data",     "pipeline",     "context",   "other", "bubble"};
  return kNames[static_cast<std::size_t>(part)];
}

double step_of(const Measured& measured, double value, const sim::Scenario& scenario,
               const Counted& counted) {
  const auto samples = static_cast<double>(scenario.workload.global_batch);
  const auto sequence = static_cast<double>(scenario.model.sequence);
  const double devices = counted.devices;
  switch (measured.figure) {
    case Figure::step: return value;
    case Figure::tokens_per_second: return samples * sequence / value;
    case Figure::tokens_per_second_per_device: return samples * sequence / (value * devices);
    case Figure::samples_per_second: return samples / value;
    case Figure::model_flops: return counted.model_flops.value / (value * devices);
    case Figure::recomputed_flops: {
      const auto h = static_cast<double>(scenario.model.hidden);
      const auto l = static_cast<double>(scenario.model.layers);
      const auto v = static_cast<double>(scenario.unpadded_vocab);
      const double flops =
          96 * samples * sequence * l * h * h * (1 + sequence / (6 * h) + v / (16 * l * h));
      return flops / (value * devices);
    }
    case Figure::none:
    case Figure::bus_bandwidth: return 0;
  }
  return 0;
}

Outcome outcome_of(const Row& row, const Choice& choice, const Source& source,
                   const sim::StandIns& stand_ins, Tier tier) {
  if (!row.needs.empty()) { return failed(row.needs); }
  try {
    const std::string document = sim::with_stand_ins(choice.document, stand_ins);
    return row.collective ? communicated(row, document, source)
                          : trained(row, document, source, tier);
  } catch (const sim::InputErrors& errors) {
    return failed(to_text(errors.problems().front()));
  } catch (const std::exception& error) { return failed(error.what()); }
}

}  // namespace tsim::validate
