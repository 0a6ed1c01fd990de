#include "sim/validate/validation.hpp"

#include <doctest/doctest.h>

using namespace tsim;
using namespace tsim::validate;

namespace {

Outcome ran(double step, double measured, bool fits = true) {
  Outcome outcome;
  outcome.ran = true;
  outcome.fits = fits;
  outcome.step = step;
  outcome.measured_low = outcome.measured_high = measured;
  return outcome;
}

Row row_with(const std::string& id, std::size_t choices) {
  Row row{.id = id};
  row.measured.figure = Figure::step;
  for (std::size_t i = 0; i < choices; ++i) {
    row.choices.push_back({"reading " + std::to_string(i), "{}"});
  }
  return row;
}

std::vector<Source> source_of(std::vector<Row> rows) {
  Source source;
  source.name = "s";
  source.rows = std::move(rows);
  return {source};
}

}  // namespace

TEST_CASE("inside a figure's last digit there is no error, outside it counts from its edge") {
  CHECK(step_error(29.4, 28.5, 29.5) == 0.0);
  CHECK(step_error(27.0, 28.5, 29.5) == doctest::Approx(27.0 / 28.5 - 1));
  CHECK(step_error(31.0, 28.5, 29.5) == doctest::Approx(31.0 / 29.5 - 1));
}

TEST_CASE("of several readings the nearest counts, and all of them are the band") {
  const auto sources = source_of({row_with("a", 3)});
  const std::vector<Outcome> outcomes{ran(8, 10), ran(10.5, 10), ran(14, 10)};
  const RowResult row = validation(sources, outcomes, {})[0].rows[0];
  CHECK(row.reading == "reading 1");
  CHECK(*row.error == doctest::Approx(0.05));
  CHECK(row.low == 8);
  CHECK(row.high == 14);
  CHECK(row.wide);  // 14 / 8 is more than 1.1
}

TEST_CASE("a reading that does not fit in memory is not what ran, if another one fits") {
  const auto sources = source_of({row_with("a", 2), row_with("b", 2)});
  const std::vector<Outcome> outcomes{ran(10, 10, false), ran(12, 10), ran(10, 10, false),
                                      ran(12, 10, false)};
  const auto rows = validation(sources, outcomes, {})[0].rows;
  CHECK(*rows[0].error == doctest::Approx(0.2));
  CHECK(*rows[1].error == 0.0);
  CHECK_FALSE(rows[1].fits);
}

TEST_CASE("weak rows are shown and not counted, fitted ones are counted apart") {
  std::vector<Row> list{row_with("a", 1), row_with("b", 1), row_with("c", 1), row_with("d", 1)};
  list[0].weak = true;
  list[3].fitted = true;
  const auto sources = source_of(std::move(list));
  const std::vector<Outcome> outcomes{ran(20, 10), ran(11, 10), ran(9.8, 10), ran(10.5, 10)};
  const SourceResult result = validation(sources, outcomes, {{"s", "b"}})[0];
  CHECK(result.step.rows == 3);
  CHECK(result.held_out.rows == 1);
  CHECK(result.held_out.mean == doctest::Approx(0.02));
  CHECK(result.fitted.mean == doctest::Approx(0.075));
  CHECK(result.weak_rows == 1);
}

TEST_CASE("rows that do not run say why, and count against the coverage") {
  std::vector<Row> list{row_with("a", 1), row_with("b", 1)};
  const auto sources = source_of(std::move(list));
  Outcome refused;
  refused.why = {'f', 'p', '4'};
  const SourceResult result =
      validation(sources, std::vector<Outcome>{ran(10, 10), refused}, {})[0];
  CHECK(result.ran == 1);
  CHECK(result.rows[1].why == "fp4");
  CHECK(broken(result, {.coverage = 0.5}).empty());
  CHECK(broken(result, {.coverage = 0.6}).size() == 1);
}

TEST_CASE("a bound holds for errors, bias, memory and verdicts, each told with both figures") {
  std::vector<Row> list{row_with("a", 1), row_with("b", 1)};
  list[0].measured.memory = Bytes{1000};
  list[0].measured.fits = true;
  list[1].measured.fits = false;
  const auto sources = source_of(std::move(list));
  std::vector<Outcome> outcomes{ran(11, 10), ran(9.4, 10)};
  outcomes[0].memory = 1030;
  const SourceResult result = validation(sources, outcomes, {})[0];
  CHECK(result.verdicts == 2);
  CHECK(result.verdicts_right == 1);
  // Mean of 10 % and 6 %: 8 %; bias 2 %; memory 3 %.
  CHECK(broken(result, {.step = 0.081, .bias = 0.021, .memory = 0.031, .verdicts = 0.5}).empty());
  const auto lines =
      broken(result, {.step = 0.079, .bias = 0.019, .memory = 0.029, .verdicts = 0.6});
  REQUIRE(lines.size() == 4);
  CHECK(lines[0] == "mean step error 8.0 %, at most 7.9 %");
  CHECK(lines[3] == "verdicts right 50.0 %, at least 60.0 %");
}

TEST_CASE("of several readings one by events counts before one by formula that is nearer") {
  Row row = row_with("a", 2);
  const auto sources = source_of({row});
  std::vector<Outcome> outcomes{ran(10, 10), ran(11, 10)};
  outcomes[0].by_formula = true;
  const RowResult result = validation(sources, outcomes, {})[0].rows[0];
  CHECK(result.predicted == 11);
  CHECK(result.low == 10);
  CHECK(result.high == 11);
}
