#include "sim/calibrate/statistics.hpp"

#include <doctest/doctest.h>

using namespace tsim::calibrate;

TEST_CASE("median and quartiles of repeated times") {
  const Summary s = summarise({5, 1, 4, 2, 3});
  CHECK(s.median == 3);
  CHECK(s.low == 2);
  CHECK(s.high == 4);
  CHECK(s.count == 5);
  CHECK(s.outliers.empty());
}

TEST_CASE("a time far from the others is named and not counted") {
  const Summary s = summarise({100, 101, 99, 100, 350, 100, 101, 99});
  CHECK(s.outliers == std::vector<double>{350});
  CHECK(s.count == 7);
  CHECK(s.median == 100);
}

TEST_CASE("equal times have no uncertainty, and it falls with the root of their number") {
  CHECK(uncertainty(summarise({7, 7, 7})) == 0);
  std::vector<double> few;
  std::vector<double> many;
  for (int i = 0; i < 96; ++i) { (i < 24 ? few : many).push_back(i % 2 == 0 ? 99.5 : 100.5); }
  many.insert(many.end(), few.begin(), few.end());
  CHECK(uncertainty(summarise(many)) == doctest::Approx(uncertainty(summarise(few)) / 2));
}
