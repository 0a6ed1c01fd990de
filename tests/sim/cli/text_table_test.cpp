#include "sim/cli/text_table.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <sstream>
#include <string>

namespace tsim::cli {

TEST_CASE("columns are as wide as their widest cell and lines end without blanks") {
  std::ostringstream out;
  print_table(out, {{"name"}, {"n", Align::right}, {"note"}},
              {{"a", "100", ""}, {"longer", "7", "x"}});
  CHECK(out.str() ==
        "name      n  note\n"
        "a       100\n"
        "longer    7  x\n");
}

TEST_CASE("letters of several bytes take one place") {
  std::ostringstream out;
  print_table(out, {{"α–β"}, {"b"}}, {{"x", "y"}});
  CHECK(out.str() == "α–β  b\nx    y\n");
}

TEST_CASE("digits are separated in threes from the right") {
  CHECK(with_separators(0) == "0");
  CHECK(with_separators(999) == "999");
  CHECK(with_separators(1000) == "1,000");
  CHECK(with_separators(109482240) == "109,482,240");
  CHECK(with_separators(-123456) == "-123,456");
  CHECK(with_separators(std::numeric_limits<std::int64_t>::min()) == "-9,223,372,036,854,775,808");
}

}  // namespace tsim::cli
