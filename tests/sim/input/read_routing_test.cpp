// Routing keys and recorded routings.
#include "sim/input/read_routing.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "models/registry.hpp"
#include "tests/sim/input/inputs.hpp"

using namespace tsim;
using namespace tsim::sim;
using models::RoutingKind;
using models::RoutingLoad;

namespace {

struct Read {
  models::RoutingSpec spec;
  Texts problems;
};
Read read(const std::string& text, const std::filesystem::path& folder = {}) {
  Problems problems;
  const Source source{.problems = &problems};
  const Json json = Json::parse(text);
  Read result{read_routing({.value = &json, .path = "/r", .source = &source}, folder), {}};
  for (const InputError& error : problems.errors()) { result.problems.push_back(to_text(error)); }
  return result;
}

/// A folder with one recorded routing, removed again.
class Folder {
 public:
  Folder(const std::string& name, const std::string& text)
      : path_(std::filesystem::temp_directory_path() / ("tsim_routing_" + name)) {
    std::filesystem::create_directories(path_);
    std::ofstream(path_ / name) << text;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

Read read_trace(const std::string& name, const std::string& text) {
  const Folder folder(name, text);
  return read(R"({"load": "trace", "trace": ")" + name + "\"}", folder.path());
}

bool one_problem(const Read& read, const std::string& part) {
  CAPTURE(read.problems);
  return read.problems.size() == 1 && read.problems[0].find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("an empty routing is dropless and even") {
  const Read r = read("{}");
  CHECK(r.problems == Texts{});
  CHECK(r.spec == models::RoutingSpec{});
}

TEST_CASE("GShard's routing: capacity, groups, a random second expert") {
  const Read r = read(
      R"({"kind": "top_k_capacity", "capacity_factor": 2, "local_groups": 4,
          "second_expert": 0.5, "load": "zipf", "exponent": 0.3, "balance": 0.9, "seed": 7})");
  CHECK(r.problems == Texts{});
  CHECK(r.spec.kind == RoutingKind::top_k_capacity);
  CHECK(r.spec.capacity_factor == 2);
  CHECK(r.spec.local_groups == 4);
  CHECK(r.spec.second_expert == 0.5);
  CHECK(r.spec.load == RoutingLoad::zipf);
  CHECK(r.spec.exponent == 0.3);
  CHECK(r.spec.balance == 0.9);
  CHECK(r.spec.seed == 7);
}

TEST_CASE("keys of another kind or load are refused") {
  CHECK(one_problem(read(R"({"capacity_factor": 1.25})"), "/r/capacity_factor"));
  CHECK(one_problem(read(R"({"exponent": 1})"), "without load zipf"));
  CHECK(one_problem(read(R"({"kind": "dropless", "node_limit": 4})"), "without kind node_limited"));
  CHECK(one_problem(read(R"({"kind": "node_limited"})"), "/r/node_limit"));
  CHECK(one_problem(read(R"({"kind": "top_k_capacity"})"), "/r/capacity_factor: found nothing"));
  CHECK(one_problem(read(R"({"load": "trace"})"), "/r/trace"));
  CHECK(one_problem(read(R"({"kind": "droples"})"), "did you mean \"dropless\""));
}

TEST_CASE("a histogram is one list or a list of them") {
  CHECK(read(R"({"load": "histogram", "histogram": [0.5, 0.25, 0.25]})").spec.shares ==
        std::vector<std::vector<double>>{{0.5, 0.25, 0.25}});
  CHECK(read(R"({"load": "histogram", "histogram": [[1, 0], [0.5, 0.5]]})").spec.shares.size() ==
        2);
  CHECK(one_problem(read(R"({"load": "histogram", "histogram": [2]})"), "/r/histogram/0"));
}

TEST_CASE("a histogram that does not sum up contradicts the model") {
  const Read r = read(R"({"load": "histogram", "histogram": [0.5, 0.1, 0.1, 0.1, 0, 0, 0, 0]})");
  Problems problems;
  check_routing(r.spec, *models::model_named("mixtral-8x7b"), "/r", problems);
  REQUIRE(problems.errors().size() == 1);
  CHECK(to_text(problems.errors()[0]) ==
        "/r/histogram/0: found shares that sum to 0.800000, expected a sum of 1");
}

TEST_CASE("recorded counts and recorded tokens say the same") {
  const Read counts = read_trace("a.json", R"({"counts": [[2, 1, 1], [0, 2, 2]]})");
  CHECK(counts.problems == Texts{});
  const Read routes =
      read_trace("b.json", R"({"experts": 3, "routes": [[[0, 1], [2, 0]], [[1, 2], [1, 2]]]})");
  CHECK(routes.problems == Texts{});
  CHECK(counts.spec.shares == routes.spec.shares);
  CHECK(counts.spec.routes.empty());
  CHECK(routes.spec.routes[0] == std::vector<std::int32_t>{0, 1, 2, 0});
}

TEST_CASE("lines of a recorded run add up by layer") {
  const Read r =
      read_trace("c.jsonl",
                 "{\"layer\": 0, \"counts\": [1, 3]}\n{\"layer\": 1, \"counts\": [2, 2]}\n"
                 "\n{\"layer\": 0, \"counts\": [4, 0]}\n{\"layer\": 1, \"counts\": [0, 4]}\n");
  CHECK(r.problems == Texts{});
  CHECK(r.spec.shares == std::vector<std::vector<double>>{{5, 3}, {2, 6}});
}

TEST_CASE("recordings with missing rows, experts or sense are refused") {
  CHECK(one_problem(read_trace("d.json", R"({"counts": [[2, 2], [1, 2]]})"),
                    "/1: found layer 1 with 3 rows, expected 4, as layer 0 has"));
  CHECK(one_problem(read_trace("e.json", R"({"counts": [[2, -2]]})"), "/counts/0/1: found -2"));
  CHECK(one_problem(read_trace("f.json", R"({"experts": 2, "routes": [[[0, 2]]]})"),
                    "/routes/0/0: found [0,2], expected 2 different experts from 0 to 1"));
  CHECK(one_problem(read_trace("g.json", R"({"experts": 2, "routes": [[[1, 1]]]})"), "[1,1]"));
  CHECK(one_problem(read_trace("h.json", "{}"), "neither counts nor routes"));
  CHECK(one_problem(read_trace("i.jsonl", "{\"layer\": 0, \"counts\": [1]}\n{\n"), "i.jsonl:2"));
  CHECK(one_problem(read(R"({"load": "trace", "trace": "nowhere.json"})"), "no such file"));
}
