#include "sim/input/quantity.hpp"

#include <doctest/doctest.h>

using namespace tsim::sim;

TEST_CASE("units of sizes tell powers of 1000 from powers of 1024") {
  CHECK(*parse_quantity("80 GiB", Dimension::size).value == 80.0 * 1024 * 1024 * 1024);
  CHECK(*parse_quantity("80GB", Dimension::size).value == 80e9);
  CHECK(*parse_quantity("1.5 KiB", Dimension::size).value == 1536);
  CHECK(*parse_quantity("2 TB", Dimension::size).value == 2e12);
  CHECK(*parse_quantity("7 B", Dimension::size).value == 7);
}

TEST_CASE("400 Gb/s, 50 GB/s and 46.57 GiB/s are the same rate to 0.01 %") {
  CHECK(*parse_quantity("400 Gb/s", Dimension::rate).value == 50e9);
  CHECK(*parse_quantity("50 GB/s", Dimension::rate).value == 50e9);
  // 50e9 / 2^30 = 46.566, so 46.57 GiB/s is 50.004e9.
  const double gib = *parse_quantity("46.57 GiB/s", Dimension::rate).value;
  CHECK(std::abs(gib / 50e9 - 1) < 1e-4);
}

TEST_CASE("times and compute rates have the usual prefixes") {
  CHECK(*parse_quantity("1.2 us", Dimension::time).value == doctest::Approx(1.2e-6));
  CHECK(*parse_quantity("3 ms", Dimension::time).value == doctest::Approx(3e-3));
  CHECK(*parse_quantity("312 TFLOP/s", Dimension::compute).value == 312e12);
  CHECK(*parse_quantity("2.25 PFLOP/s", Dimension::compute).value == 2.25e15);
  CHECK(*parse_quantity("128 TOP/s", Dimension::compute).value == 128e12);
}

TEST_CASE("a unit of another kind is refused, and the unit that was meant is named") {
  const auto hint = [](const char* text, Dimension d) {
    const ParsedQuantity parsed = parse_quantity(text, d);
    CHECK_FALSE(parsed.value.has_value());
    return parsed.hint;
  };
  CHECK(hint("25 GB", Dimension::rate) == "did you mean \"25 GB/s\"?");
  CHECK(hint("400 Gbps", Dimension::rate) == "did you mean \"400 Gb/s\"?");
  CHECK(hint("25 gb/s", Dimension::rate) == "did you mean \"25 GB/s\"?");
  CHECK(hint("312 TFLOPS", Dimension::compute) == "did you mean \"312 TFLOP/s\"?");
  CHECK(hint("80", Dimension::size) == "add the unit");
  CHECK(hint("5 s", Dimension::size) == "units are B, KB, kB, MB, GB, TB, KiB, MiB, GiB, TiB");
}

TEST_CASE("what is no number is no quantity") {
  for (const char* text : {"", " ", "GB", "nan GB", "inf GB", "1e999 GB", "--1 GB", "1,5 GB"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_quantity(text, Dimension::size).value.has_value());
  }
}
