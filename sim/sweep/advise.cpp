#include "sim/sweep/advise.hpp"

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "sim/input/read_scenario.hpp"
#include "sim/report/report.hpp"
#include "sim/simulation.hpp"
#include "sim/sweep/space.hpp"

namespace tsim::sim {
namespace {

using strategies::MemoryClass;

std::string rounded(double value, int digits) {
  std::ostringstream out;
  out.setf(std::ios::fixed);
  out.precision(digits);
  out << value;
  return out.str();
}

std::string share(double part, double whole) {
  return rounded(whole > 0 ? 100 * part / whole : 0, 0) + " %";
}

std::string gib(Bytes bytes) {
  constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
  return rounded(to_double(bytes) / kGiB, 1) + " GiB";
}

std::string title_of(const Scenario& s) {
  const strategies::Strategy& t = s.strategy;
  std::string title = "TP" + std::to_string(t.tensor) + " x PP" + std::to_string(t.pipeline) +
                      " x DP" + std::to_string(t.data);
  if (t.context > 1) { title += " x CP" + std::to_string(t.context); }
  title += ", micro-batch " + std::to_string(s.workload.micro_batch);
  if (t.pipeline > 1) {
    title += ", " + t.schedule;
    if (t.chunks > 1) { title += " with " + std::to_string(t.chunks) + " chunks"; }
  }
  if (t.recompute != strategies::Recompute::none) {
    title += ", " + std::string(name_of(t.recompute)) + " recomputation";
  }
  if (t.sequence_parallel) { title += ", sequence parallel"; }
  if (t.zero.stage > 0) { title += ", ZeRO-" + std::to_string(t.zero.stage); }
  return title;
}

/// The critical path's largest parts, and the bubble.
std::string bound_of(const Report& r) {
  std::string text = "bound by ";
  const std::size_t shown = std::min<std::size_t>(3, r.critical_path.size());
  for (std::size_t i = 0; i < shown; ++i) {
    text += (i == 0 ? "" : ", ") + r.critical_path[i].what + " " +
            share(r.critical_path[i].time.value, r.step.value);
  }
  return text + "; ranks are idle " + rounded(100 * r.bubble_fraction, 0) + " %";
}

std::string memory_of(const Report& r) {
  const KindReport& k = r.kinds[r.tightest];
  std::string text = "memory " + gib(r.needed) + " of " + gib(r.capacity);
  std::vector<std::pair<Bytes, std::string>> classes;
  for (int c = 0; c < strategies::kMemoryClasses; ++c) {
    classes.emplace_back(k.peak[static_cast<std::size_t>(c)],
                         std::string(name_of(static_cast<MemoryClass>(c))));
  }
  std::ranges::stable_sort(classes, [](const auto& a, const auto& b) { return a.first > b.first; });
  const char* separator = ": ";
  for (std::size_t i = 0; i < 3 && classes[i].first.value > 0; ++i) {
    text += separator + classes[i].second + " " + gib(classes[i].first);
    separator = ", ";
  }
  return text;
}

/// What the largest loss suggests.
std::string next_of(const Scenario& s, const Report& r) {
  const double left = to_double(r.capacity - r.needed) / to_double(r.capacity);
  if (r.bubble_fraction > 0.15 && s.strategy.pipeline > 1) {
    return "try next: more micro-batches (a larger global batch), or zb_h1, which fills idle time "
           "with weight gradients";
  }
  if (r.exposed_fraction > 0.15) {
    return s.strategy.tensor > 1 ? "try next: faster links between the tensor-parallel ranks, or "
                                   "tensor_chunks to hide their communication"
                                 : "try next: faster links between nodes, or larger micro-batches";
  }
  if (left > 0.3 && s.strategy.recompute != strategies::Recompute::none) {
    return "try next: recomputing some layers only (\"recompute\": \"fit\"), as " +
           gib(r.capacity - r.needed) + " are free";
  }
  if (!s.strategy.flash_attention) {
    return "try next: flash attention, which moves and keeps fewer bytes";
  }
  return "try next: lower precision, since computing takes most of the time";
}

std::string settings_of(const Scenario& s, std::string_view program, Advice& advice) {
  if (program == "megatron") { return megatron_arguments(s, advice.unstated); }
  if (program == "deepspeed") { return deepspeed_json(s, advice.unstated); }
  if (program == "torchtitan") { return torchtitan_toml(s, advice.unstated); }
  return {};
}

/// What makes two answers the same to a reader.
std::array<std::int64_t, 7> signature(const Choice& c) {
  return {c[Field::tensor],      c[Field::pipeline], c[Field::data],     c[Field::context],
          c[Field::micro_batch], c[Field::chunks],   c[Field::recompute]};
}

}  // namespace

std::vector<Advice> advise(const SweepSpec& spec, const SweepReport& report, std::size_t count,
                           std::string_view program) {
  const Space space(spec);
  std::vector<std::array<std::int64_t, 7>> seen;
  std::vector<Advice> list;
  for (const Judged& j : report.answers) {
    if (list.size() == count) { break; }
    if (!j.simulated || !j.events.failure.empty() || !j.events.fits) { continue; }
    if (std::ranges::find(seen, signature(j.answer.choice)) != seen.end()) { continue; }
    seen.push_back(signature(j.answer.choice));
    const Json document = document_of(spec, space.digits(j.answer.point), j.answer.choice);
    const Scenario scenario = read_scenario_text(document.dump(), spec.file).base;
    const Report r = summarise(scenario, run_scenario(scenario));
    Advice advice{.judged = j,
                  .title = title_of(scenario),
                  .lines = {bound_of(r), memory_of(r), next_of(scenario, r)},
                  .settings = {},
                  .unstated = {}};
    advice.settings = settings_of(scenario, program, advice);
    list.push_back(std::move(advice));
  }
  return list;
}

}  // namespace tsim::sim
