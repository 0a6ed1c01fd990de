#include <algorithm>
#include <array>

#include "strategies/schedules/orders.hpp"

namespace tsim::strategies {
namespace {

constexpr std::array kSchedules{
    Schedule{"naive", "one micro-batch in flight", false, naive},
    Schedule{"gpipe", "all forwards, then all backwards", false, gpipe},
    Schedule{"1f1b", "one forward, one backward (PipeDream-flush)", false, one_f_one_b},
    Schedule{"interleaved", "1F1B over several chunks a stage", true, interleaved},
};

}  // namespace

std::span<const Schedule> schedules() { return kSchedules; }

const Schedule* schedule_named(std::string_view name) {
  for (const Schedule& s : kSchedules) {
    if (s.name == name) { return &s; }
  }
  return nullptr;
}

std::vector<std::string_view> schedule_names() {
  std::vector<std::string_view> names;
  names.reserve(kSchedules.size());
  for (const Schedule& s : kSchedules) { names.push_back(s.name); }
  return names;
}

StageOrder forward_only(const PipelineShape& shape) {
  StageOrder order;
  for (int first = 0; first < shape.micro_batches; first += shape.stages) {
    const int end = std::min(first + shape.stages, shape.micro_batches);
    for (int chunk = 0; chunk < shape.chunks; ++chunk) {
      for (int m = first; m < end; ++m) { order.push_back({Phase::forward, m, chunk}); }
    }
  }
  return order;
}

double bubble_fraction(const PipelineShape& shape) {
  const double ramp = (shape.stages - 1) / static_cast<double>(shape.chunks);
  return ramp / (shape.micro_batches + ramp);
}

double bubble_ratio(const PipelineShape& shape) {
  return (shape.stages - 1) / (static_cast<double>(shape.micro_batches) * shape.chunks);
}

}  // namespace tsim::strategies
