#include <cmath>
#include <ostream>

#include <nlohmann/json.hpp>

#include "sim/cli/print_experts.hpp"
#include "sim/cli/print_report.hpp"

namespace tsim::cli {
namespace {

using Json = nlohmann::ordered_json;
using sim::Report;

Json memory_json(const sim::MemoryByClass& memory) {
  Json json;
  for (int c = 0; c < strategies::kMemoryClasses; ++c) {
    const auto name = strategies::name_of(static_cast<strategies::MemoryClass>(c));
    json[std::string(name) + "_bytes"] = memory[static_cast<std::size_t>(c)].value;
  }
  json["total_bytes"] = sim::total(memory).value;
  return json;
}

Json stages_json(const Report& r) {
  Json list = Json::array();
  for (const sim::StageReport& s : r.stages) {
    list.push_back({{"stage", s.stage},
                    {"contents", s.contents},
                    {"layers", s.layers},
                    {"parameters_per_rank", s.parameters},
                    {"busy_s", s.times.busy.value},
                    {"exposed_communication_s", s.times.exposed.value},
                    {"idle_s", s.times.idle.value},
                    {"communication_s", s.times.communication.value},
                    {"micro_batches_in_flight", s.in_flight},
                    {"peak_memory", memory_json(s.peak)}});
    if (s.trained < s.parameters) { list.back()["trained_parameters_per_rank"] = s.trained; }
    if (s.fully + s.selectively > 0) {
      list.back()["recompute"] = {{"full", s.fully}, {"selective", s.selectively}};
    }
  }
  return list;
}

Json kinds_json(const Report& r) {
  Json list = Json::array();
  for (const sim::KindReport& kind : r.kinds) {
    list.push_back({{"device", kind.device},
                    {"devices", kind.devices},
                    {"fits", kind.fits},
                    {"fullest_rank", kind.rank},
                    {"needed_bytes", kind.needed.value},
                    {"capacity_bytes", kind.capacity.value}});
  }
  return list;
}

Json host_json(const sim::HostReport& h) {
  return {{"node", h.node},
          {"fits", h.fits},
          {"parameters_bytes", h.parameters.value},
          {"gradients_bytes", h.gradients.value},
          {"optimizer_bytes", h.optimizer.value},
          {"activations_bytes", h.activations.value},
          {"total_bytes", sim::total(h).value},
          {"drives_bytes", h.drives.value},
          {"capacity_bytes", h.capacity.value > 0 ? Json(h.capacity.value) : Json(nullptr)}};
}

Json communications_json(const Report& r) {
  Json list = Json::array();
  for (const sim::CommRow& c : r.communications) {
    list.push_back({{"what", c.label},
                    {"algorithm", c.algorithm},
                    {"ranks", c.ranks},
                    {"size_bytes", c.payload.value},
                    {"count", c.count},
                    {"mean_s", c.each.value}});
  }
  return list;
}

Json histogram_json(const sim::Histogram& histogram) {
  Json list = Json::array();
  for (const auto& [value, n] : histogram) {
    list.push_back({{"value", value}, {"iterations", n}});
  }
  return list;
}

Json traffic_json(const Report& r) {
  Json list = Json::array();
  for (const sim::TrafficRow& row : r.traffic) {
    Json crossed = Json::array();
    for (std::size_t kind = 0; kind < sim::kLinkKinds; ++kind) {
      const double bytes = row.crossing[kind];
      if (bytes <= 0) { continue; }
      crossed.push_back({{"link", name_of(static_cast<cost::LinkKind>(kind))},
                         {"bytes", std::llround(bytes)},
                         {"share", bytes / row.sent}});
    }
    list.push_back({{"group", row.group},
                    {"sent_bytes", std::llround(row.sent)},
                    {"crosses", std::move(crossed)}});
  }
  return list;
}

/// Sources of the kernels' times with their share, and the heaviest shapes not measured.
Json lookups_json(const Report& r) {
  const auto times = times_by_origin(r.lookups);
  const auto counts = counts_by_origin(r.lookups);
  Json json = Json::object();
  for (std::size_t i = 0; i < times.size(); ++i) {
    json[std::string(name_of(static_cast<cost::Origin>(i)))] = {{"shapes", counts[i]},
                                                                {"time_s", times[i].value}};
  }
  json["misses"] = Json::array();
  for (const sim::Lookup& miss : heaviest_misses(r.lookups)) {
    json["misses"].push_back({{"work", cost::line_of(*miss.subject)},
                              {"kernel", miss.kernel},
                              {"time_s", miss.time.value},
                              {"source", name_of(miss.origin)}});
  }
  return json;
}

Json async_json(const sim::AsyncReport& r) {
  Json json{{"iterations", r.iterations}, {"iterations_per_s", r.iterations_per_second}};
  json["worker_iterations_per_s"] = r.worker_rates;
  json["staleness_mean"] = sim::mean(r.staleness);
  json["staleness"] = histogram_json(r.staleness);
  json["clocks_ahead_mean"] = sim::mean(r.ahead);
  json["clocks_ahead"] = histogram_json(r.ahead);
  return json;
}

/// What was simulated, and how fast it is.
Json figures_json(const Answer& a) {
  const Report& r = a.report;
  const sim::Scenario& s = *a.scenario;
  Json json{{"name", a.name},
            {"model", s.model.name},
            {"parameters", models::parameters(s.model)},
            {"devices", r.devices},
            {"device", r.device},
            {"layout",
             {{"tensor", s.strategy.tensor},
              {"pipeline", s.strategy.pipeline},
              {"data", s.strategy.data},
              {"context", s.strategy.context},
              {"chunks", s.strategy.chunks}}},
            {"step_time_s", r.step.value},
            {"samples_per_s", r.samples_per_second},
            {"tokens_per_s", r.tokens_per_second},
            {"model_flops", r.model_flops.value},
            {"hardware_flops", r.hardware_flops.value},
            {"model_tflops_per_s_per_device", r.model_tflops_per_device}};
  if (s.model.lora.rank > 0) { json["trained_parameters"] = trained_parameters(s.model); }
  json["mfu"] = r.has_peak ? Json(r.mfu) : Json(nullptr);
  json["hfu"] = r.has_peak ? Json(r.hfu) : Json(nullptr);
  json["busy_fraction"] = r.busy_fraction;
  json["exposed_communication_fraction"] = r.exposed_fraction;
  json["bubble_fraction"] = r.bubble_fraction;
  json["closed_form_step_time_s"] = r.closed_form ? Json(r.closed_form->value) : Json(nullptr);
  return json;
}

Json straggler_json(const sim::Straggler& straggler) {
  return {{"rank", straggler.rank},
          {"device", straggler.device},
          {"slowdown", straggler.slowdown},
          {"added_s", straggler.added.value},
          {"others_idle_mean_s", straggler.others_idle.value},
          {"others_idle_most_s", straggler.most_idle.value}};
}

Json memory_json(const Report& r) {
  Json json{{"fits", r.fits},
            {"heaviest_rank", r.kinds[r.tightest].rank},
            {"heaviest_stage", r.stages[r.heaviest_stage].stage},
            {"needed_bytes", r.needed.value},
            {"allowance_bytes", r.allowance.value},
            {"capacity_bytes", r.capacity.value},
            {"hints", r.hints}};
  if (r.host) { json["host"] = host_json(*r.host); }
  if (r.kinds.size() > 1) { json["kinds"] = kinds_json(r); }
  return json;
}

Json experts_json(const Answer& a) {
  Json layers = Json::array();
  for (const sim::ExpertRow& row : a.experts) {
    layers.push_back({{"first_layer", row.first_layer},
                      {"last_layer", row.last_layer},
                      {"experts", row.experts},
                      {"imbalance", row.imbalance},
                      {"rank_imbalance", row.rank_imbalance},
                      {"dropped", row.dropped},
                      {"mean_expert_s", row.mean.value},
                      {"slowest_expert_s", row.slowest.value}});
    if (a.scenario->strategy.experts.shadowing.on) { layers.back()["shadowed"] = row.shadows; }
  }
  Json json{{"layers", std::move(layers)}};
  if (a.scenario->workload.training) {
    json["device_hours_per_trillion_tokens"] = device_hours_per_trillion_tokens(a.report);
  }
  return json;
}

Json report_json(const Answer& a) {
  const Report& r = a.report;
  const sim::Scenario& s = *a.scenario;
  Json json = figures_json(a);
  if (!s.strategy.stage_places.empty()) { json["stage_places"] = s.strategy.stage_places; }
  if (!r.slice_tokens.empty()) { json["slice_tokens"] = r.slice_tokens; }
  if (r.parameter_bytes) {
    json["bytes_per_parameter"] = {{"weights", r.parameter_bytes->weights},
                                   {"gradients", r.parameter_bytes->gradients},
                                   {"optimizer", r.parameter_bytes->optimizer}};
  }
  if (r.async) { json["data_parallel"] = async_json(*r.async); }
  if (r.straggler) { json["straggler"] = straggler_json(*r.straggler); }
  if (!a.experts.empty()) { json["experts"] = experts_json(a); }
  json["stages"] = stages_json(r);
  json["communications"] = communications_json(r);
  json["rank_order"] = s.strategy.order;
  json["traffic"] = traffic_json(r);
  json["busiest_links"] = Json::array();
  for (const sim::ChannelLoad& c : r.busiest) {
    json["busiest_links"].push_back(
        {{"link", c.name}, {"moved_bytes", c.moved.value}, {"utilisation", c.utilisation}});
  }
  json["critical_path"] = Json::array();
  for (const sim::PathRow& p : r.critical_path) {
    json["critical_path"].push_back({{"what", p.what}, {"time_s", p.time.value}});
  }
  json["memory"] = memory_json(r);
  if (!r.lookups.empty()) { json["kernel_times"] = lookups_json(r); }
  json["simulated"] = {{"ranks", r.simulated_ranks}, {"tasks", r.tasks}};
  json["assumptions"] = s.assumptions;
  json["warnings"] = s.warnings;
  return json;
}

}  // namespace

void print_json(const std::vector<Answer>& answers, std::ostream& out) {
  Json document{{"schema", "tsim-report"}, {"version", 1}};
  document["result"] = report_json(answers.front());
  document["variants"] = Json::array();
  for (std::size_t i = 1; i < answers.size(); ++i) {
    document["variants"].push_back(report_json(answers[i]));
  }
  out << document.dump(2) << '\n';
}

}  // namespace tsim::cli
