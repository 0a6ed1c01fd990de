#include "sim/input/points/read_points.hpp"

#include <doctest/doctest.h>

#include "sim/input/points/write_points.hpp"
#include "tests/sim/input/inputs.hpp"

using namespace tsim;
using namespace tsim::sim;

namespace {

struct Outcome {
  cost::Measured measured;
  Texts problems;
};

Outcome points_of(const std::string& text) {
  Problems problems;
  Outcome result;
  const auto document = parse_json(text, "", problems);
  REQUIRE(document);
  const Source source{.problems = &problems};
  result.measured = read_points(Place{&*document, "", &source}, "");
  for (const InputError& error : problems.errors()) { result.problems.push_back(to_text(error)); }
  return result;
}

const char* const kFull = R"({"schema": "tsim-points", "version": 1,
  "sources": [{"device": "X1", "sm_mhz": 1980}],
  "points": [
    {"work": "gemm bf16 nt 64 32 16", "us": 5, "low": 4.5, "high": 5.5, "count": 7, "cold_us": 6},
    {"work": "adam 1024", "us": 2.5}],
  "surfaces": [{"series": "adam", "coefficients": [1, 0.5], "low": [10], "high": [10],
                "residual": 0.02, "points": 4}],
  "links": [{"operation": "all_reduce", "ranks": 2, "alpha_us": 12, "bytes_per_s": 4e11,
             "least_bytes": 1024, "most_bytes": 1048576, "points": 6}]})";

}  // namespace

TEST_CASE("points are read with their statistics, source, surface and links") {
  const Outcome found = points_of(kFull);
  REQUIRE(found.problems.empty());
  REQUIRE(found.measured.series.size() == 2);
  const cost::Series* gemm = found.measured.find(cost::subject_of("gemm bf16 nt 1 1 1")->series);
  REQUIRE(gemm != nullptr);
  const cost::MeasuredPoint& p = gemm->points.front();
  CHECK(p.median.value == doctest::Approx(5e-6));
  CHECK(p.low.value == doctest::Approx(4.5e-6));
  CHECK(p.cold.value == doctest::Approx(6e-6));
  CHECK(p.count == 7);
  CHECK(found.measured.sources.front().facts.front().second == "X1");
  CHECK(found.measured.series.back().surface->coefficients.size() == 2);
  CHECK(found.measured.links.front().alpha.value == doctest::Approx(12e-6));
}

TEST_CASE("what is written is read again") {
  const cost::Measured first = points_of(kFull).measured;
  const Outcome second = points_of(points_text(first));
  REQUIRE(second.problems.empty());
  CHECK(points_text(second.measured) == points_text(first));
}

TEST_CASE("all that is wrong with points is told at once") {
  const Outcome found = points_of(R"({"schema": "tsim-points", "version": 2,
    "sources": [],
    "points": [{"work": "gemm bf16 nt 1 2", "us": 1}, {"work": "adam 8", "us": 0},
               {"work": "adam 4", "us": 1}, {"work": "adam 4", "us": 1}, {"us": 1, "time": 3}],
    "surfaces": [{"series": "map bf16 add", "coefficients": [1], "low": [1], "high": [1]}]})");
  const Texts expected{"/version: found 2, expected 1; hint: the file was written by a later tsim",
                       "/points/0/work: found \"gemm bf16 nt 1 2\", expected a work line; hint: "
                       "`tsim-measure --forms` "
                       "lists what there is"};
  REQUIRE(found.problems.size() == 7);
  CHECK(found.problems[0] == expected[0]);
  CHECK(found.problems[1] == expected[1]);
  CHECK(found.problems[2].starts_with("/points/1/us: found 0"));
  CHECK(found.problems[3].starts_with("/points/3/work: found \"adam 4\""));
  CHECK(found.problems[4].starts_with("/points/4/work"));
  CHECK(found.problems[5].starts_with("/points/4/time: unknown key"));
  CHECK(found.problems[6].starts_with("/surfaces/0/series: found \"map bf16 add\""));
}

TEST_CASE("a surface has as many coefficients as its series' counts ask for") {
  const Outcome found = points_of(R"({"sources": [], "points": [{"work": "adam 8", "us": 1}],
    "surfaces": [{"series": "adam", "coefficients": [1, 2, 3, 4], "low": [1, 2], "high": [3]}]})");
  REQUIRE(found.problems.size() == 2);
  CHECK(found.problems[0] == "/surfaces/0/coefficients: found 4 numbers, expected 2 or 3");
  CHECK(found.problems[1] == "/surfaces/0/low: found 2 numbers, expected 1");
}

TEST_CASE("a file of points that does not exist is a problem of the device") {
  Problems problems;
  const Json text = "no/such.points.json";
  const Source source{.problems = &problems};
  read_points(Place{&text, "/measured", &source}, "");
  REQUIRE(problems.errors().size() == 1);
  CHECK(to_text(problems.errors().front()) ==
        "/measured: found \"no/such.points.json\", expected the path of a file of points; hint: no "
        "such file");
}
