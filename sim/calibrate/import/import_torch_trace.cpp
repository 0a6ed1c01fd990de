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

double number_at(const Json& event, const char* key) {
  const auto at = event.find(key);
  return at != event.end() && at->is_number() ? at->get<double>() : 0.0;
}

/// A kernel on the device, microseconds.
struct KernelSpan {
  std::int64_t stream = 0, operation = -1;
  double begin = 0, duration = 0;
};

std::vector<KernelSpan> kernel_spans(const Json& events) {
  std::vector<KernelSpan> spans;
  for (const Json& event : events) {
    if (!event.is_object() || text_at(event, "cat") != "kernel") { continue; }
    spans.push_back({static_cast<std::int64_t>(number_at(event, "tid")), external_id(event),
                     number_at(event, "ts"), number_at(event, "dur")});
  }
  std::sort(spans.begin(), spans.end(), [](const KernelSpan& a, const KernelSpan& b) {
    return std::pair(a.stream, a.begin) < std::pair(b.stream, b.begin);
  });
  return spans;
}

/// Microseconds that the kernels of each operator took together, each with its start: the time
/// since the kernel before it ended. A longer pause than kLongest is the host's.
std::map<std::int64_t, double> kernel_times(const Json& events) {
  constexpr double kLongest = 5.0;
  std::map<std::int64_t, double> times;
  std::int64_t stream = -1;
  double end = 0;
  for (const KernelSpan& span : kernel_spans(events)) {
    const double pause = span.stream == stream ? span.begin - end : 0.0;
    const double start = pause > 0 && pause < kLongest ? pause : 0.0;
    if (span.operation >= 0) { times[span.operation] += start + span.duration; }
    stream = span.stream;
    end = span.begin + span.duration;
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

/// Operators in the order in which they began.
std::vector<const Json*> in_order(const Json& events) {
  std::vector<const Json*> list;
  for (const Json& event : events) {
    if (event.is_object() && text_at(event, "cat") == "cpu_op") { list.push_back(&event); }
  }
  std::stable_sort(list.begin(), list.end(), [](const Json* a, const Json* b) {
    return number_at(*a, "ts") < number_at(*b, "ts");
  });
  return list;
}

/// The times of operators by what they are.
class Operators {
 public:
  explicit Operators(const std::map<std::int64_t, double>& times) : times_(times) {}

  void add(const Json& event) {
    const auto time = times_.find(external_id(event));
    if (time == times_.end() || time->second <= 0) { return; }
    const std::optional<cost::Subject> subject = subject_of_operator(event);
    if (subject) {
      found_[*subject].push_back(time->second);
      join_ = cost::line_of(*subject).find(" join ") != std::string::npos ? subject : std::nullopt;
    } else if (join_ && copied_elements(event) == join_->shape[0]) {
      // What was joined does not lie as the product reads it: the copy is part of the join.
      found_[*join_].back() += time->second;
      join_.reset();
    } else {
      ++others_;
    }
  }
  const std::map<cost::Subject, std::vector<double>>& found() const { return found_; }
  std::size_t others() const { return others_; }

 private:
  const std::map<std::int64_t, double>& times_;
  std::map<cost::Subject, std::vector<double>> found_;
  std::optional<cost::Subject> join_;  // the operator before, if it was one
  std::size_t others_ = 0;
};

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
  Operators operators(times);
  for (const Json* event : in_order(*events)) { operators.add(*event); }
  for (const auto& [subject, us] : operators.found()) {
    imported.points.push_back({subject, summary(subject.shape, us)});
  }
  if (operators.others() > 0) {
    imported.remarks.push_back(std::to_string(operators.others()) +
                               " operators that tsim times no kernel of");
  }
  return imported;
}

}  // namespace tsim::calibrate
