// Traces of the PyTorch profiler (torch.profiler with record_shapes): each kernel names the
// operator that started it, and the operator the shapes of its inputs.
#include <algorithm>
#include <map>
#include <numeric>

#include "sim/calibrate/import/imported_points.hpp"
#include "sim/calibrate/import/torch_operator.hpp"
#include "sim/input/json_reader.hpp"

namespace tsim::calibrate {
namespace {

using sim::Json;

std::string text_at(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

/// "External id", which ties kernels to the operator; -1 when there is none.
std::int64_t external_id(const Json& event) {
  const auto args = event.find("args");
  if (args == event.end() || !args->is_object()) { return -1; }
  const auto id = args->find("External id");
  return id != args->end() && id->is_number_integer() ? id->get<std::int64_t>() : -1;
}

/// Microseconds that the kernels of each operator took together.
std::map<std::int64_t, double> kernel_times(const Json& events) {
  std::map<std::int64_t, double> times;
  for (const Json& event : events) {
    if (!event.is_object() || text_at(event, "cat") != "kernel") { continue; }
    const auto duration = event.find("dur");
    const std::int64_t id = external_id(event);
    if (id >= 0 && duration != event.end() && duration->is_number()) {
      times[id] += duration->get<double>();
    }
  }
  return times;
}

/// The mean with quartiles: in one profiled step clocks change while it runs, and what counts is
/// what all calls take together.
cost::MeasuredPoint summary(const cost::Counts& shape, std::vector<double> us) {
  std::sort(us.begin(), us.end());
  const auto quartile = [&](std::size_t quarter) {
    return Seconds{us[(us.size() - 1) * quarter / 4] * 1e-6};
  };
  const double sum = std::accumulate(us.begin(), us.end(), 0.0);
  return {.shape = shape,
          .median = Seconds{sum / static_cast<double>(us.size()) * 1e-6},
          .low = quartile(1),
          .high = quartile(3),
          .count = static_cast<int>(us.size())};
}

std::string device_of(const Json& document) {
  const auto devices = document.find("deviceProperties");
  const bool listed = devices != document.end() && devices->is_array() && !devices->empty();
  return listed ? text_at(devices->front(), "name") : std::string();
}

}  // namespace

ImportedPoints import_torch_trace(std::string_view text, sim::Problems& problems) {
  ImportedPoints imported{.format = "a trace of the PyTorch profiler"};
  const std::optional<Json> document = sim::parse_json(text, "", problems);
  if (!document) { return imported; }
  const auto events = document->find("traceEvents");
  if (events == document->end() || !events->is_array()) {
    problems.add({.path = "/traceEvents", .found = "no list of events"});
    return imported;
  }
  if (const std::string device = device_of(*document); !device.empty()) {
    imported.source.facts.emplace_back("device", device);
  }
  for (const char* const key : {"cuda_driver_version", "cuda_runtime_version", "cupti_version"}) {
    const auto version = document->find(key);
    if (version == document->end() || !version->is_number_integer()) { continue; }
    imported.source.facts.emplace_back(key, version->dump());
  }
  imported.source.facts.emplace_back("figures", "kernel durations of the PyTorch profiler");
  const std::map<std::int64_t, double> times = kernel_times(*events);
  std::map<cost::Subject, std::vector<double>> found;
  std::size_t others = 0;
  for (const Json& event : *events) {
    if (!event.is_object() || text_at(event, "cat") != "cpu_op") { continue; }
    const auto time = times.find(external_id(event));
    if (time == times.end() || time->second <= 0) { continue; }
    const std::optional<cost::Subject> subject = subject_of_operator(event);
    if (!subject) {
      ++others;
    } else {
      found[*subject].push_back(time->second);
    }
  }
  for (const auto& [subject, us] : found) {
    imported.points.push_back({subject, summary(subject.shape, us)});
  }
  if (others > 0) {
    imported.remarks.push_back(std::to_string(others) + " operators that tsim times no kernel of");
  }
  return imported;
}

}  // namespace tsim::calibrate
