// Searches against each other: what is passed over is never the best.
#include "sim/sweep/search.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "sim/input/read_scenario.hpp"

namespace tsim::sim {
namespace {

Json list(std::vector<int> values) { return Json(std::move(values)); }

/// Some of the values, one at least.
std::vector<int> some_of(std::vector<int> values, std::mt19937& random) {
  std::ranges::shuffle(values, random);
  values.resize(1 + random() % values.size());
  std::ranges::sort(values);
  return values;
}

Json small_space(std::mt19937& random) {
  const std::vector<std::string> models{"gpt2", "bert-large", "gpt3-175b"};
  Json spec;
  spec["scenario"] = {{"model", models[random() % models.size()]},
                      {"workload", {{"global_batch", 32}, {"micro_batch", 1}, {"sequence", 512}}},
                      {"cluster", {{"base", "a100_selene"}, {"nodes", 2}}},
                      {"strategy", Json::object()},
                      {"precision", {{"compute", "fp16"}, {"gradient", "fp32"}}}};
  spec["vary"] = {{"/strategy/tensor", list(some_of({1, 2, 4, 8}, random))},
                  {"/strategy/pipeline", list(some_of({1, 2, 4, 8}, random))},
                  {"/strategy/data", "rest"},
                  {"/workload/micro_batch", list(some_of({1, 2, 4}, random))},
                  {"/strategy/zero", list(some_of({0, 1, 3}, random))},
                  {"/strategy/recompute", {"none", "full"}},
                  {"/strategy/sequence_parallel", {false, true}}};
  spec["top"] = 3;
  return spec;
}

std::vector<Answer> searched(const SweepSpec& spec, bool bounded, Counts& counts) {
  Searcher searcher(spec);
  Best best(spec);
  searcher.range({0, searcher.space().size(), bounded}, best, counts);
  return best.answers();
}

TEST_CASE("a search that passes over what is too slow finds the exhaustive grid's best") {
  std::mt19937 random(7);
  std::uint64_t passed = 0;
  int with_answer = 0;
  for (int space = 0; space < 10; ++space) {
    SweepSpec spec = read_spec(small_space(random), "test.json");
    spec.apart = space % 2 == 1;
    Counts all;
    Counts some;
    const auto grid = searched(spec, false, all);
    const auto pruned = searched(spec, true, some);
    REQUIRE(grid.size() == pruned.size());
    for (std::size_t i = 0; i < grid.size(); ++i) { CHECK(grid[i].point == pruned[i].point); }
    CHECK(all.points == some.points);
    passed += all.estimated - some.estimated;
    with_answer += grid.empty() ? 0 : 1;
  }
  CHECK(passed > 0);
  CHECK(with_answer >= 5);
}

TEST_CASE("points that are removed together have the reasons that each has alone") {
  std::mt19937 random(11);
  for (int space = 0; space < 5; ++space) {
    Json document = small_space(random);
    document["where"] = {"micro_batches >= pipeline", "zero == 0 || replicas > 1",
                         "pipeline > 1 || micro_batch == 1"};
    const SweepSpec spec = read_spec(document, "test.json");
    Searcher searcher(spec);
    Counts counts;
    const std::uint64_t size = searcher.space().size();
    // Parts that end in the middle of what is removed together.
    for (std::uint64_t first = 0; first < size; first += 7) {
      searcher.count({first, std::min(size, first + 7), false}, counts);
    }
    std::vector<std::uint64_t> points;
    for (std::uint64_t p = 0; p < size; ++p) { points.push_back(p); }
    Best best(spec);
    Counts singly;
    searcher.points(points, best, singly);
    CHECK(counts.points == size);
    CHECK(singly.points == size);
    CHECK(counts.legal == singly.legal);
    singly.removed.erase("does not fit in memory");
    CHECK(counts.removed == singly.removed);
  }
}

TEST_CASE("answers that are to differ in their degrees do, each the best with its own") {
  Best best(2, false, true);
  const auto answer = [](std::uint64_t point, std::int64_t tensor, double step) {
    Answer a{point, {}, {}, {step}};
    a.choice[Field::tensor] = tensor;
    return a;
  };
  best.add(answer(0, 1, 5));
  best.add(answer(1, 1, 4));
  best.add(answer(2, 1, 6));
  best.add(answer(3, 2, 9));
  CHECK(best.limit() == 9);
  best.add(answer(4, 4, 7));
  REQUIRE(best.answers().size() == 2);
  CHECK(best.answers()[0].point == 1);
  CHECK(best.answers()[1].point == 4);
}

TEST_CASE("of several goals the answers are those that no other beats in all") {
  Best best(1, true);
  const auto answer = [](std::uint64_t point, double a, double b) {
    return Answer{point, {}, {}, {a, b}};
  };
  best.add(answer(0, 2, 2));
  best.add(answer(1, 1, 3));
  best.add(answer(2, 3, 3));
  best.add(answer(3, 2, 1));
  REQUIRE(best.answers().size() == 2);
  CHECK(best.answers()[0].point == 1);
  CHECK(best.answers()[1].point == 3);
}

TEST_CASE("points are numbered with the last axis the fastest, and cells share block fields") {
  Json document;
  document["scenario"] = {{"model", "gpt2"}};
  document["vary"] = {{"/strategy/data", {1, 2, 4}},
                      {"/strategy/tensor", {1, 2}},
                      {"/cluster/nodes", {1, 2, 3, 4, 5}}};
  const SweepSpec spec = read_spec(document, "test.json");
  const Space space(spec);
  CHECK(space.size() == 30);
  CHECK(space.cell_size() == 3);
  CHECK(space.setting_size() == 6);
  CHECK(space.digits(29) == std::vector<std::size_t>{4, 1, 2});
  CHECK(space.digits(7) == std::vector<std::size_t>{1, 0, 1});
}

TEST_CASE("random points are ascending, each once, and the same for the same seed") {
  const auto points = random_points(1'000'000, 1000, 5);
  CHECK(points.size() == 1000);
  CHECK(std::ranges::is_sorted(points));
  CHECK(std::ranges::adjacent_find(points) == points.end());
  CHECK(points == random_points(1'000'000, 1000, 5));
  CHECK(random_points(10, 1000, 5).size() == 10);
}

}  // namespace
}  // namespace tsim::sim
