#include "sim/input/truth/read_truth.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "sim/input/input_error.hpp"

using namespace tsim;

namespace {

const std::string kHead = "{\"title\": \"t\", \"citation\": \"c\", ";

std::vector<std::string> problems_of(const std::string& text) {
  std::vector<std::string> lines;
  try {
    sim::read_truth_text(text, "x.json");
  } catch (const sim::InputErrors& errors) {
    for (const sim::InputError& error : errors.problems()) { lines.push_back(to_text(error)); }
  }
  return lines;
}

bool mentions(const std::vector<std::string>& lines, const std::string& words) {
  return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
    return line.find(words) != std::string::npos;
  });
}

}  // namespace

TEST_CASE("a row is the shared scenario with its groups' and its own changes") {
  const validate::Source source = sim::read_truth_text(
      kHead +
          "\"scenario\": {\"strategy\": {\"tensor\": 1}}, \"groups\": {\"big\": "
          "{\"/strategy/tensor\": 8, \"/workload/micro_batch\": 2}}, \"rows\": [{\"id\": \"a\", "
          "\"like\": \"big\", \"set\": {\"/workload/micro_batch\": 4}, \"measured\": "
          "{\"step\": \"1.5 s\"}}]}",
      "x.json");
  REQUIRE(source.rows.size() == 1);
  const validate::Row& row = source.rows[0];
  CHECK(row.measured.figure == validate::Figure::step);
  CHECK(row.measured.value == 1.5);
  REQUIRE(row.choices.size() == 1);
  CHECK(row.choices[0].label.empty());
  CHECK(row.choices[0].document ==
        "{\"strategy\":{\"tensor\":8},\"workload\":{\"micro_batch\":4}}");
}

TEST_CASE("memory is the fullest rank's unless a row says that it is the first stage's") {
  const validate::Source source = sim::read_truth_text(
      kHead +
          "\"rows\": [{\"id\": \"a\", \"measured\": {\"memory\": \"9 GB\", \"memory_of\": "
          "\"first_stage\"}}, {\"id\": \"b\", \"measured\": {\"memory\": \"9 GB\"}}]}",
      "x.json");
  CHECK(source.rows[0].measured.first_stage);
  CHECK_FALSE(source.rows[1].measured.first_stage);
  CHECK(mentions(
      problems_of(kHead + "\"rows\": [{\"id\": \"a\", \"measured\": {\"memory\": \"9 GB\", "
                          "\"memory_of\": \"last\"}}]}"),
      "first_stage"));
}

TEST_CASE("what a source leaves open becomes every combination of the values") {
  const validate::Source source = sim::read_truth_text(
      kHead +
          "\"rows\": [{\"id\": \"a\", \"open\": {\"/strategy/chunks\": [1, 2, 3], "
          "\"/strategy/recompute\": [\"none\", \"full\"]}, \"measured\": {\"step\": \"1 s\"}}]}",
      "x.json");
  std::set<std::string> labels;
  for (const validate::Choice& choice : source.rows[0].choices) { labels.insert(choice.label); }
  CHECK(labels.size() == 6);
  CHECK(labels.count("chunks 3, recompute full") == 1);
}

TEST_CASE("everything that is wrong with a source is told at once") {
  const auto lines = problems_of(
      "{\"title\": \"t\", \"goal\": {\"step\": 3}, \"rows\": [{\"id\": \"a\", \"like\": \"non\", "
      "\"measured\": {}}, {\"id\": \"a\", \"measured\": {\"step\": \"1\"}, \"opne\": {}}]}");
  CHECK(mentions(lines, "/citation"));
  CHECK(mentions(lines, "/goal/step"));
  CHECK(mentions(lines, "/rows/0/measured: found nothing that was measured"));
  CHECK(mentions(lines, "/rows/0/like"));
  CHECK(mentions(lines, "/rows/1/opne: unknown key"));
  CHECK(mentions(lines, "/rows/1/measured/step"));
  CHECK(mentions(lines, "a second row \"a\""));
}

TEST_CASE("a row has one figure of speed, and open values are lists") {
  CHECK(mentions(problems_of(kHead + "\"rows\": [{\"id\": \"a\", \"measured\": {\"step\": \"1 s\", "
                                     "\"samples_per_second\": 3}}]}"),
                 "two figures of speed"));
  CHECK(mentions(problems_of(kHead + "\"rows\": [{\"id\": \"a\", \"open\": {\"/a\": 3}, "
                                     "\"measured\": {\"step\": \"1 s\"}}]}"),
                 "no values of \"/a\""));
}

TEST_CASE("a stand-in takes the place of the device that a row names, and of no other") {
  const std::string row = "{\"cluster\":{\"device\":\"a100-sxm-80g\"}}";
  CHECK(sim::with_stand_ins(row, {{"a100-sxm-80g", "mine.json"}}) ==
        "{\"cluster\":{\"device\":\"mine.json\"}}");
  CHECK(sim::with_stand_ins(row, {{"a100-sxm-80g", "{\"base\": \"b200\"}"}}) ==
        "{\"cluster\":{\"device\":{\"base\":\"b200\"}}}");
  CHECK(sim::with_stand_ins(row, {{"b200", "mine.json"}}) == row);
  const std::string changed =
      "{\"cluster\":{\"device\":{\"base\":\"b200\",\"reserved\":\"2 GiB\"}}}";
  CHECK(sim::with_stand_ins(changed, {{"b200", "mine.json"}}) ==
        "{\"cluster\":{\"device\":{\"base\":\"mine.json\",\"reserved\":\"2 GiB\"}}}");
  CHECK(sim::with_stand_ins(changed, {{"b200", "{\"name\": \"x\", \"reserved\": \"1 GiB\"}"}}) ==
        "{\"cluster\":{\"device\":{\"name\":\"x\",\"reserved\":\"2 GiB\"}}}");
}

TEST_CASE("all sources that come with tsim can be read, cite something and have rows") {
  const std::vector<std::string> names = sim::truth_names();
  CHECK(names.size() >= 15);
  for (const std::string& name : names) {
    CAPTURE(name);
    const validate::Source source = sim::read_truth(name);
    CHECK(source.citation.size() > 10);
    CHECK_FALSE(source.rows.empty());
  }
}
