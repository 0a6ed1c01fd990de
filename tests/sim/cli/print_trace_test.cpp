#include "sim/cli/print_trace.hpp"

#include <doctest/doctest.h>

#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace tsim {
namespace {

using nlohmann::json;
using strategies::MemoryClass;
using strategies::Phase;
using strategies::Stream;
using strategies::Task;
using strategies::TaskGraph;
using strategies::TaskKind;

/// Two ranks, one micro-batch: rank 0 computes 0-1 us, its output travels 1-1.5 us, rank 1 computes
/// 1.5-3.5 us. Rank 0 keeps 100 bytes of activations, rank 1 drops its 40 when it ends.
struct Run {
  TaskGraph graph;
  sim::Timeline timeline;
};

Run two_stages() {
  Run run;
  TaskGraph& g = run.graph;
  g.computes = {{.label = "stage \"0\" forward"}, {.label = "stage 1 forward"}};
  g.comms = {{.label = "activations 0 to 1", .algorithm = "send", .ranks = 2, .payload = {4096}}};
  g.groups = {{0, 1}};
  g.effects = {{{MemoryClass::activations, {100}, {0}}}, {{MemoryClass::activations, {40}, {-40}}}};
  g.ranks = {{.global = 0, .stage = 0, .resident = {{MemoryClass::parameters, {1000}, {0}}}},
             {.global = 1, .stage = 1, .copies = 4}};
  g.tasks = {{.work = 0, .place = 0, .micro_batch = 7, .effect = 0},
             {.work = 0,
              .place = 0,
              .micro_batch = 7,
              .kind = TaskKind::comm,
              .phase = Phase::transfer,
              .stream = Stream::pp},
             {.work = 1, .place = 1, .micro_batch = 7, .effect = 1}};
  g.first = {0, 1, 2, 2};
  g.successor = {1, 2};
  g.in_degree = {0, 1, 1};
  run.timeline.start = {0, 1e-6, 1.5e-6};
  run.timeline.end = {1e-6, 1.5e-6, 3.5e-6};
  return run;
}

json trace_of(const Run& run, int ranks = 0) {
  std::ostringstream out;
  cli::print_trace(run.graph, run.timeline, ranks, out);
  return json::parse(out.str()).at("traceEvents");
}

/// The events of one kind, in order.
std::vector<json> events(const json& trace, const std::string& kind) {
  std::vector<json> found;
  for (const json& event : trace) {
    if (event.at("ph") == kind) { found.push_back(event); }
  }
  return found;
}

std::string process_name(const json& trace, int process) {
  for (const json& event : events(trace, "M")) {
    if (event.at("name") == "process_name" && event.at("pid") == process) {
      return event.at("args").at("name");
    }
  }
  return {};
}

std::string thread_name(const json& trace, const json& of) {
  for (const json& event : events(trace, "M")) {
    if (event.at("name") == "thread_name" && event.at("pid") == of.at("pid") &&
        event.at("tid") == of.at("tid")) {
      return event.at("args").at("name");
    }
  }
  return {};
}

}  // namespace

TEST_CASE("a trace has a process for each rank, which tells its stage and how many are like it") {
  const json trace = trace_of(two_stages());
  CHECK(process_name(trace, 0) == "rank 0 (stage 0)");
  CHECK(process_name(trace, 1) == "rank 1 (stage 1) and 3 like it");
}

TEST_CASE("a computation is a slice in microseconds on its rank's compute thread") {
  const json trace = trace_of(two_stages());
  const json last = events(trace, "X").back();
  CHECK(last.at("pid") == 1);
  CHECK(thread_name(trace, last) == "compute");
  CHECK(last.at("ts") == 1.5);
  CHECK(last.at("dur") == 2.0);
  CHECK(last.at("args").at("micro_batch") == 7);
  CHECK(last.at("args").at("phase") == "forward");
  CHECK(last.at("args").at("label") == "stage 1 forward");
}

TEST_CASE("a label with quotes stays valid JSON") {
  const json first = events(trace_of(two_stages()), "X").front();
  CHECK(first.at("args").at("label") == "stage \"0\" forward");
}

TEST_CASE("a message is a slice on both of its ranks, with its bytes") {
  const json trace = trace_of(two_stages());
  std::vector<int> ranks;
  for (const json& slice : events(trace, "X")) {
    if (slice.at("cat") != "transfer") { continue; }
    ranks.push_back(slice.at("pid"));
    CHECK(thread_name(trace, slice) == "pp");
    CHECK(slice.at("args").at("payload_bytes") == 4096);
  }
  CHECK(ranks == std::vector<int>{0, 1});
}

TEST_CASE("an arrow leads from the sender's message to the computation that waited for it") {
  const json trace = trace_of(two_stages());
  const std::vector<json> starts = events(trace, "s");
  const std::vector<json> ends = events(trace, "f");
  REQUIRE(starts.size() == 1);
  REQUIRE(ends.size() == 1);
  CHECK(starts[0].at("id") == ends[0].at("id"));
  CHECK(starts[0].at("pid") == 0);
  CHECK(thread_name(trace, starts[0]) == "pp");
  CHECK(starts[0].at("ts") == 1.0);
  CHECK(ends[0].at("pid") == 1);
  CHECK(thread_name(trace, ends[0]) == "compute");
  CHECK(ends[0].at("ts") == 1.5);
}

TEST_CASE("memory counters follow what tasks take when they start and give back when they end") {
  std::map<int, std::vector<std::pair<double, int>>> totals;
  for (const json& event : events(trace_of(two_stages()), "C")) {
    if (event.at("name") != "memory in total") { continue; }
    totals[event.at("pid")].emplace_back(event.at("ts"), event.at("args").at("bytes"));
  }
  using Steps = std::vector<std::pair<double, int>>;
  CHECK(totals[0] == Steps{{0.0, 1100}});
  CHECK(totals[1] == Steps{{0.0, 0}, {1.5, 40}, {3.5, 0}});
}

TEST_CASE("a rank's memory counter has only the classes that the rank ever uses") {
  for (const json& event : events(trace_of(two_stages()), "C")) {
    if (event.at("name") != "memory" || event.at("pid") != 0) { continue; }
    CHECK(event.at("args") == json{{"parameters", 1000}, {"activations", 100}});
  }
}

TEST_CASE("tasks of one stream that overlap get threads of their own") {
  Run run = two_stages();
  run.graph.tasks.push_back(run.graph.tasks[1]);
  run.graph.first.push_back(2);
  run.graph.in_degree.push_back(0);
  run.timeline.start.push_back(1.2e-6);
  run.timeline.end.push_back(1.3e-6);
  const json trace = trace_of(run);
  std::vector<std::string> threads;
  for (const json& slice : events(trace, "X")) {
    if (slice.at("pid") == 1 && slice.at("cat") == "transfer") {
      threads.push_back(thread_name(trace, slice));
    }
  }
  CHECK(threads == std::vector<std::string>{"pp", "pp 2"});
}

TEST_CASE("slices of one thread never overlap, and events come in order of time") {
  const json trace = trace_of(two_stages());
  std::map<std::pair<int, int>, double> busy_until;
  double now = 0;
  for (const json& event : trace) {
    if (event.at("ph") == "M") { continue; }
    CHECK(event.at("ts").get<double>() >= now);
    now = event.at("ts");
    if (event.at("ph") != "X") { continue; }
    double& until = busy_until[{event.at("pid"), event.at("tid")}];
    CHECK(until <= now);
    until = now + event.at("dur").get<double>();
  }
}

TEST_CASE("a trace of the first rank alone has nothing of the others and no loose arrow") {
  for (const json& event : trace_of(two_stages(), 1)) {
    CHECK(event.at("pid") == 0);
    CHECK(event.at("ph") != "s");
    CHECK(event.at("ph") != "f");
  }
}

TEST_CASE("a task that takes no time is still a slice, also at the very end") {
  Run run = two_stages();
  run.timeline.start[2] = run.timeline.end[2] = 1.5e-6;
  const json last = events(trace_of(run), "X").back();
  CHECK(last.at("pid") == 1);
  CHECK(last.at("dur") == 0.0);
}

TEST_CASE("a graph without tasks is a valid trace") {
  CHECK(trace_of({.graph = {}, .timeline = {}}).empty());
}

}  // namespace tsim
