#include "sim/input/read_document.hpp"

#include <doctest/doctest.h>

#include "tests/sim/input/inputs.hpp"

using namespace tsim::sim;

namespace {

std::string problem_of(std::string_view text) {
  Problems problems;
  CHECK_FALSE(parse_json(text, "", problems).has_value());
  REQUIRE(problems.errors().size() == 1);
  return to_text(problems.errors().front());
}

std::string set(std::string document, const std::string& assignment) {
  Json json = Json::parse(document);
  Problems problems;
  apply_override(json, assignment, problems);
  return problems.empty() ? json.dump() : to_text(problems.errors().front());
}

}  // namespace

TEST_CASE("a syntax error is told as line and column with the line itself") {
  CHECK(problem_of("{\n  \"a\": 1,\n  \"b\": }\n") == "3:8: unexpected '}'\n      \"b\": }");
  CHECK(problem_of("{\"a\": [1, 2,]}") ==
        "1:13: unexpected ']'; hint: remove the comma before it\n      {\"a\": [1, 2,]}");
  CHECK(problem_of("{\"a\": 1\n \"b\": 2}") ==
        "2:4: unexpected string literal; hint: a comma is missing before it\n      \"b\": 2}");
  CHECK(problem_of("{\"a\": 1").starts_with("1:8: unexpected end of input; hint: a bracket"));
  CHECK(problem_of("").starts_with("1:1: unexpected end of input"));
}

TEST_CASE("NaN, comments and infinities are no JSON") {
  CHECK(problem_of("{\"a\": NaN}").starts_with("1:7: invalid literal"));
  CHECK(problem_of("{\"a\": 1} // x").starts_with("1:10: "));
  CHECK(problem_of("{\"a\": 1e999}").starts_with("a number that is too large"));
}

TEST_CASE("a key that is given twice is told with its path") {
  CHECK(problem_of("{\"a\": {\"b\": 1, \"c\": [{}, {\"b\": 1, \"b\": 2}]}}") ==
        "/a/c/1/b: key given twice; hint: keep one of them");
}

TEST_CASE("the same key in two objects is no repetition") {
  Problems problems;
  CHECK(parse_json("{\"a\": {\"x\": 1}, \"b\": {\"x\": 1}}", "", problems).has_value());
  CHECK(problems.empty());
}

TEST_CASE("documents nested beyond reason are refused") {
  CHECK(problem_of(std::string(100'000, '[')) == "nested deeper than 64 levels");
}

TEST_CASE("an override sets numbers, texts and lists, and makes objects on the way") {
  CHECK(set("{\"a\": 1}", "/a=2") == "{\"a\":2}");
  CHECK(set("{}", "/a/b=ring") == "{\"a\":{\"b\":\"ring\"}}");
  CHECK(set("{}", "/a=[1, 2]") == "{\"a\":[1,2]}");
  CHECK(set("{\"a\": [1, 2]}", "/a/1=7") == "{\"a\":[1,7]}");
  CHECK(set("{}", "/a=x=y") == "{\"a\":\"x=y\"}");
}

TEST_CASE("an override that names no place is refused") {
  CHECK(set("{}", "tensor=2") ==
        "--set: found \"tensor=2\", expected /json/pointer=value, such as /strategy/tensor=4");
  CHECK(set("{\"a\": [1, 2]}", "/a/2=7") == "--set: found \"/a/2\", expected /a has 2 entries");
  CHECK(set("{\"model\": \"gpt2\"}", "/model/layers=3") ==
        "--set: found \"/model/layers\", but /model is \"gpt2\", expected an object to set a key "
        "in; hint: set /model to {\"base\": \"gpt2\", \"layers\": ...}");
  CHECK(set("{}", "/a~2=1").starts_with("--set: found \"/a~2\", expected a JSON pointer"));
}

TEST_CASE("a file that cannot be read says why") {
  std::string why;
  CHECK_FALSE(file_text("no/such/file.json", why).has_value());
  CHECK(why == "no such file");
  CHECK_FALSE(file_text(TSIM_SOURCE_DIR, why).has_value());
  CHECK(why == "is a folder, not a file");
  CHECK_FALSE(file_text("/dev/zero", why).has_value());
  CHECK(why == "is not a regular file");
}

TEST_CASE("all problems are printed at once under one headline") {
  try {
    read_with({"/workload/micro_bach=1", "/workload/micro_batch=0"});
    FAIL("accepted");
  } catch (const InputErrors& errors) {
    CHECK(std::string(errors.what()) ==
          kDataFile +
              ": 2 problems, nothing was simulated\n"
              "  /workload/micro_batch: found 0, expected a whole number >= 1\n"
              "  /workload/micro_bach: unknown key; hint: did you mean \"micro_batch\"?");
  }
}
