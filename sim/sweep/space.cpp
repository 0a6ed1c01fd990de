#include "sim/sweep/space.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "sim/input/quantity.hpp"
#include "sim/input/read_scenario.hpp"
#include "sim/input/rules/check_scenario.hpp"

namespace tsim::sim {
namespace {

constexpr std::uint64_t kMostPoints = std::uint64_t{1} << 62U;

bool is_block_field(const Axis& axis) { return axis.field && *axis.field <= kLastBlockField; }

Json value_of(Field field, std::int64_t number) {
  static constexpr std::array kRecomputes{"none", "selective", "full", "operators"};
  switch (field) {
    case Field::flash_attention:
    case Field::overlap_tensor:
    case Field::scatter_gather:
    case Field::overlap_gradients:
    case Field::sequence_parallel:
    case Field::overlap_parameters: return number != 0;
    case Field::recompute: return kRecomputes[static_cast<std::size_t>(number)];
    case Field::schedule:
      return std::string(strategies::schedules()[static_cast<std::size_t>(number)].name);
    default: return number;
  }
}

/// The base document with the values of the axes that are no fields.
Json base_document(const SweepSpec& spec, const std::vector<std::size_t>& digits,
                   Problems& problems) {
  Json document = spec.scenario;
  for (std::size_t a = 0; a < spec.axes.size(); ++a) {
    const Axis& axis = spec.axes[a];
    if (axis.field) { continue; }
    set_at(document, axis.pointer, axis.values[digits[a]], problems, "/vary" + axis.pointer);
  }
  return document;
}

double known_value(Known known, const Scenario& s) {
  const auto devices = static_cast<double>(s.cluster.topology.devices.size());
  std::int32_t nodes = 0;
  for (int d = 0; d < static_cast<int>(s.cluster.topology.devices.size()); ++d) {
    nodes = std::max(nodes, node_of(s.cluster.topology, d) + 1);
  }
  switch (known) {
    case Known::devices: return devices;
    case Known::nodes: return nodes;
    case Known::devices_per_node: return nodes == 0 ? devices : devices / nodes;
    case Known::layers: return static_cast<double>(layer_count(s.model));
    case Known::heads: return static_cast<double>(s.model.heads);
    case Known::hidden: return static_cast<double>(s.model.hidden);
    case Known::sequence: return static_cast<double>(tokens_of(s.model, s.workload));
    case Known::micro_batches:
    case Known::replicas: return 0;  // of a choice
  }
  return 0;
}

}  // namespace

Space::Space(const SweepSpec& spec) {
  Problems problems;
  for (const Axis& axis : spec.axes) {
    const std::uint64_t count = axis.count();
    counts_.push_back(axis.count());
    if (size_ > kMostPoints / count) {
      problems.add({.path = "/vary",
                    .found = "more than 2^62 points",
                    .expected = "fewer values",
                    .hint = {},
                    .file = {}});
      throw InputErrors("the space", problems.errors());
    }
    size_ *= count;
    if (axis.field) { setting_size_ *= count; }
    if (axis.field && !is_block_field(axis)) { cell_size_ *= count; }
  }
}

std::vector<std::size_t> Space::digits(std::uint64_t point) const {
  std::vector<std::size_t> digits(counts_.size());
  for (std::size_t a = counts_.size(); a-- > 0;) {
    digits[a] = static_cast<std::size_t>(point % counts_[a]);
    point /= counts_[a];
  }
  return digits;
}

Setting read_setting(const SweepSpec& spec, const std::vector<std::size_t>& digits) {
  Problems problems;
  const Json document = base_document(spec, digits, problems);
  Setting setting;
  Scenario scenario = read_open_scenario(document, spec.file, problems);
  if (!problems.empty()) {
    for (const InputError& e : problems.errors()) {
      if (e.found == "unknown key" || spec.axes.empty() || spec.axes.front().field) {
        throw InputErrors(spec.file.string(), problems.errors());
      }
    }
    setting.refusal = to_text(problems.errors().front());
    return setting;
  }
  setting.slots.assign(kFields, 0.0);
  for (std::size_t k = 0; k < kKnown; ++k) {
    setting.slots.push_back(known_value(static_cast<Known>(k), scenario));
  }
  for (std::size_t a = 0; a < spec.axes.size(); ++a) {
    const Axis& axis = spec.axes[a];
    if (axis.field) { continue; }
    const Json& value = axis.values[digits[a]];
    double number = std::numeric_limits<double>::quiet_NaN();
    if (value.is_number()) { number = value.get<double>(); }
    if (value.is_boolean()) { number = value.get<bool>() ? 1 : 0; }
    if (value.is_string()) {
      const auto& text = value.get_ref<const std::string&>();
      for (const Dimension dimension :
           {Dimension::size, Dimension::rate, Dimension::time, Dimension::compute}) {
        const ParsedQuantity parsed = parse_quantity(text, dimension);
        if (parsed.value) { number = *parsed.value; }
      }
    }
    setting.slots.push_back(number);
  }
  setting.estimator = std::make_unique<Estimator>(std::move(scenario));
  return setting;
}

Json document_of(const SweepSpec& spec, const std::vector<std::size_t>& digits,
                 const Choice& choice) {
  Problems problems;
  Json document = base_document(spec, digits, problems);
  for (std::size_t a = 0; a < spec.axes.size(); ++a) {
    const Axis& axis = spec.axes[a];
    if (!axis.field) { continue; }
    const Json value =
        axis.formula ? value_of(*axis.field, choice[*axis.field]) : axis.values[digits[a]];
    const bool zero_object = *axis.field == Field::zero &&
                             document.contains("/strategy/zero"_json_pointer) &&
                             document["/strategy/zero"_json_pointer].is_object();
    set_at(document, zero_object ? axis.pointer + "/stage" : axis.pointer, value, problems, {});
  }
  const bool chunks =
      std::ranges::any_of(spec.axes, [](const Axis& a) { return a.field == Field::chunks; });
  if (!chunks) { set_at(document, "/strategy/chunks", choice[Field::chunks], problems, {}); }
  return document;
}

double goal_value(Goal goal, const SweepSpec& spec, const Scenario& s, double step, double memory) {
  const auto devices = static_cast<double>(s.cluster.topology.devices.size());
  const double tokens = static_cast<double>(s.workload.global_batch) *
                        static_cast<double>(tokens_of(s.model, s.workload));
  constexpr double kHour = 3600;
  constexpr double kDay = 86'400;
  switch (goal) {
    case Goal::step_time: return step;
    case Goal::tokens_per_second: return -tokens / step;
    case Goal::tokens_per_second_per_device: return -tokens / step / devices;
    case Goal::cost_per_million_tokens: return spec.price * devices * step / kHour / tokens * 1e6;
    case Goal::energy_per_token: return spec.power * devices * step / tokens;
    case Goal::memory: return memory;
    case Goal::days: return spec.tokens / tokens * step / kDay;
  }
  return step;
}

double shown(Goal goal, double value) { return is_rate(goal) ? -value : value; }

}  // namespace tsim::sim
