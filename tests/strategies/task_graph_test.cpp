#include "strategies/task_graph.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <vector>

using namespace tsim::strategies;

namespace {

std::vector<TaskId> row(const TaskGraph& graph, TaskId t) {
  const auto span = successors(graph, t);
  return {span.begin(), span.end()};
}

}  // namespace

TEST_CASE("edges are laid out by source, sorted, duplicates kept once") {
  TaskGraphBuilder builder;
  for (int i = 0; i < 4; ++i) { builder.add({}); }
  builder.edge(2, 3);
  builder.edge(0, 3);
  builder.edge(0, 1);
  builder.edge(0, 3);
  builder.edge(2, 0);
  builder.edge(0, 3);
  const auto graph = std::move(builder).finish();
  CHECK(row(graph, 0) == std::vector<TaskId>{1, 3});
  CHECK(row(graph, 1).empty());
  CHECK(row(graph, 2) == std::vector<TaskId>{0, 3});
  CHECK(row(graph, 3).empty());
  CHECK(graph.in_degree == std::vector<std::uint32_t>{1, 1, 0, 2});
}

TEST_CASE("an edge from or to no task is no edge") {
  TaskGraphBuilder builder;
  const TaskId only = builder.add({});
  builder.edge(kNoTask, only);
  builder.edge(only, kNoTask);
  const auto graph = std::move(builder).finish();
  CHECK(graph.successor.empty());
  CHECK(graph.in_degree == std::vector<std::uint32_t>{0});
}

TEST_CASE("a graph without tasks has one offset") {
  const auto graph = TaskGraphBuilder{}.finish();
  CHECK(graph.first == std::vector<std::uint32_t>{0});
}

TEST_CASE("every edge that was put in is in the rows, and none else") {
  TaskGraphBuilder builder;
  constexpr std::uint32_t kTasks = 97;
  for (std::uint32_t i = 0; i < kTasks; ++i) { builder.add({}); }
  std::set<std::pair<TaskId, TaskId>> expected;
  for (std::uint32_t i = 0; i < 5000; ++i) {
    const TaskId a = i * i % kTasks, b = (i * 31 + 7) % kTasks;
    builder.edge(a, b);
    expected.emplace(a, b);
  }
  const auto graph = std::move(builder).finish();
  std::set<std::pair<TaskId, TaskId>> found;
  for (TaskId t = 0; t < kTasks; ++t) {
    for (const TaskId s : successors(graph, t)) { found.emplace(t, s); }
  }
  CHECK(found == expected);
  CHECK(graph.successor.size() == expected.size());
}

TEST_CASE("phases, streams and memory classes have names of their own") {
  std::set<std::string_view> names;
  for (int i = 0; i < 8; ++i) { names.insert(name_of(static_cast<Phase>(i))); }
  CHECK(names.size() == 8);
  names.clear();
  for (int i = 0; i < 8; ++i) { names.insert(name_of(static_cast<Stream>(i))); }
  CHECK(names.size() == 8);
  names.clear();
  for (int i = 0; i < kMemoryClasses; ++i) { names.insert(name_of(static_cast<MemoryClass>(i))); }
  CHECK(names.size() == kMemoryClasses);
  CHECK(name_of(Phase::weight_grad) == "weight grad");
  CHECK(name_of(MemoryClass::reserved) == "reserved");
}

TEST_CASE("a memory class is called what its enumerator says") {
  CHECK(name_of(MemoryClass::activations) == "activations");
  CHECK(name_of(MemoryClass::logits) == "logits");
  CHECK(name_of(MemoryClass::workspace) == "workspace");
  CHECK(name_of(MemoryClass::reserved) == "reserved");
}
