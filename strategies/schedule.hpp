// Pipeline schedules: the order in which each stage runs the phases of its micro-batches.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "strategies/task_graph.hpp"

namespace tsim::strategies {

struct PipelineShape {
  int stages = 1;         // p >= 1
  int micro_batches = 1;  // m >= 1
  int chunks = 1;         // v >= 1 model chunks of every stage
};

/// One phase (forward or backward) of one micro-batch on one chunk of a stage.
struct Action {
  Phase phase{};
  int micro_batch = 0;
  int chunk = 0;
  bool operator==(const Action&) const = default;
};
using StageOrder = std::vector<Action>;

/// A schedule: what it is called, what it demands, and the order that it gives stage 0 <= s < p.
struct Schedule {
  std::string_view name;
  std::string_view summary;
  bool chunked = false;  // takes chunks > 1
  StageOrder (*order)(const PipelineShape&, int stage) = nullptr;
};

/// All schedules, in the order of the documentation.
std::span<const Schedule> schedules();
/// nullptr for an unknown name.
const Schedule* schedule_named(std::string_view name);
std::vector<std::string_view> schedule_names();

/// Forward-only streaming, whatever the schedule: p micro-batches pass chunk 0, then chunk 1, ...
StageOrder forward_only(const PipelineShape& shape);

/// (p-1)/(m+p-1): idle / step time, equal stages, no communication.  [arXiv:2104.04473, sec. 2.2]
double bubble_fraction(const PipelineShape& shape);
/// (p-1)/(m v): idle / ideal time.
double bubble_ratio(const PipelineShape& shape);

}  // namespace tsim::strategies
