#include "strategies/task_graph.hpp"

#include <algorithm>
#include <array>
#include <cassert>

namespace tsim::strategies {

std::string_view name_of(Phase phase) {
  constexpr std::array<std::string_view, 9> kNames{"forward",       "recompute",      "backward",
                                                   "input grad",    "weight grad",    "optimizer",
                                                   "gradient sync", "parameter sync", "transfer"};
  return kNames[static_cast<std::size_t>(phase)];
}

std::string_view name_of(Stream stream) {
  constexpr std::array<std::string_view, 11> kNames{"compute", "tp",       "dp",       "pp",
                                                    "cp",      "ep",       "copy in",  "copy out",
                                                    "host",    "drive in", "drive out"};
  return kNames[static_cast<std::size_t>(stream)];
}

std::string_view name_of(MemoryClass c) {
  switch (c) {
    case MemoryClass::parameters: return "parameters";
    case MemoryClass::gradients: return "gradients";
    case MemoryClass::optimizer: return "optimizer";
    case MemoryClass::activations: return "activations";
    case MemoryClass::logits: return "logits";
    case MemoryClass::buffers: return "buffers";
    case MemoryClass::workspace: return "workspace";
    case MemoryClass::reserved: return "reserved";
  }
  return "";
}

namespace {

using Edge = std::pair<TaskId, TaskId>;

/// Offsets of the rows that hold each source's edges, and the targets laid out in them.
void lay_out(const std::vector<Edge>& edges, std::vector<std::uint32_t>& first,
             std::vector<TaskId>& successor) {
  for (const auto& [before, after] : edges) { ++first[before + 1]; }
  for (std::size_t t = 1; t < first.size(); ++t) { first[t] += first[t - 1]; }
  successor.resize(edges.size());
  // `first` serves as the write cursor of its row and is shifted back when all is written.
  for (const auto& [before, after] : edges) { successor[first[before]++] = after; }
  std::move_backward(first.begin(), first.end() - 1, first.end());
  first.front() = 0;
}

/// Sorts every row and closes the holes that duplicates leave.
void drop_duplicates(std::vector<std::uint32_t>& first, std::vector<TaskId>& successor) {
  const auto at = [&](std::size_t i) { return successor.begin() + static_cast<std::ptrdiff_t>(i); };
  std::uint32_t kept = 0;
  std::uint32_t row = 0;
  for (std::size_t t = 0; t + 1 < first.size(); ++t) {
    const std::uint32_t end = first[t + 1];
    std::sort(at(row), at(end));
    const auto last = std::unique_copy(at(row), at(end), at(kept));
    first[t] = kept;
    kept = static_cast<std::uint32_t>(last - successor.begin());
    row = end;
  }
  first.back() = kept;
  successor.resize(kept);
}

}  // namespace

TaskId TaskGraphBuilder::add(const Task& task) {
  graph.tasks.push_back(task);
  return static_cast<TaskId>(graph.tasks.size() - 1);
}

void TaskGraphBuilder::edge(TaskId before, TaskId after) {
  if (before == kNoTask || after == kNoTask) { return; }
  assert(before < graph.tasks.size() && after < graph.tasks.size());
  edges_.emplace_back(before, after);
}

TaskGraph TaskGraphBuilder::finish() && {
  graph.first.assign(graph.tasks.size() + 1, 0);
  lay_out(edges_, graph.first, graph.successor);
  edges_ = {};
  drop_duplicates(graph.first, graph.successor);
  graph.in_degree.assign(graph.tasks.size(), 0);
  for (const TaskId after : graph.successor) { ++graph.in_degree[after]; }
  return std::move(graph);
}

}  // namespace tsim::strategies
