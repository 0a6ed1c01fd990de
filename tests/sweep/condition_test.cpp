#include "sim/sweep/condition.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace tsim::sim {
namespace {

const Condition::Names kNames{{"a", "b", "kind"}, [](std::string_view text) -> std::int64_t {
                                return text == "full" ? 2 : -1;
                              }};

double value(const std::string& text, const std::vector<double>& slots) {
  Problems problems;
  const Condition condition = Condition::read(text, kNames, "/where", problems);
  for (const InputError& e : problems.errors()) { FAIL(to_text(e)); }
  return condition.value(slots);
}

std::string problem(const std::string& text) {
  Problems problems;
  Condition::read(text, kNames, "/where/0", problems);
  return problems.empty() ? "" : to_text(problems.errors().front());
}

TEST_CASE("operators bind as in C, left to right") {
  const std::vector<double> slots{6, 4, 2};
  CHECK(value("1 + 2 * 3", slots) == 7);
  CHECK(value("(1 + 2) * 3", slots) == 9);
  CHECK(value("20 - 5 - 3", slots) == 12);
  CHECK(value("24 / a / b", slots) == 1);
  CHECK(value("a % b", slots) == 2);
  CHECK(value("-a + 10", slots) == 4);
  CHECK(value("a * b <= 24 && a > b", slots) == 1);
  CHECK(value("a < b || b < a && a == 7", slots) == 0);
  CHECK(value("!(a == 6)", slots) == 0);
  CHECK(value("kind != 'full'", slots) == 0);
  CHECK(value("true", slots) == 1);
}

TEST_CASE("a condition that cannot be read names the place and what belongs there") {
  CHECK(problem("a +") == "/where/0: found the end in \"a +\", expected a number or a name");
  CHECK(problem("a b").find("expected an operator or the end") != std::string::npos);
  CHECK(problem("kin == 1").find("did you mean \"kind\"?") != std::string::npos);
  CHECK(problem("(a").find("expected \")\"") != std::string::npos);
  CHECK(problem("kind == 'ful'").find("in quotes") != std::string::npos);
  CHECK(problem(std::string(5000, '(')).find("less deep") != std::string::npos);
}

}  // namespace
}  // namespace tsim::sim
