#include "sim/sweep/database.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "sim/sweep/run_sweep.hpp"
#include "tests/sweep/scratch.hpp"

namespace tsim::sim {
namespace {

namespace fs = std::filesystem;
using testing::Scratch;

SweepSpec bert(std::int64_t top) {
  Json spec;
  spec["scenario"] = {{"model", "bert-base"},
                      {"workload", {{"global_batch", 16}, {"micro_batch", 1}, {"sequence", 128}}},
                      {"cluster", {{"base", "a100_selene"}}},
                      {"strategy", Json::object()},
                      {"precision", {{"compute", "fp16"}}}};
  spec["vary"] = {
      {"/strategy/tensor", {1, 2, 4}}, {"/strategy/pipeline", {1, 2}}, {"/strategy/data", "rest"}};
  spec["search"] = "grid";
  spec["top"] = top;
  spec["events"] = 0;
  return read_spec(spec, "test.json");
}

TEST_CASE("a database keeps every answer once, however often its search is run") {
  const Scratch file("tsim_db");
  const SweepSpec spec = bert(4);
  const SweepRun run{.jobs = 1, .database = file.path(), .version = "1", .progress = {}};
  const SweepReport first = run_sweep(spec, run);
  const SweepReport again = run_sweep(spec, run);
  CHECK(first.counts.points == 6);
  CHECK(again.counts.points == 6);
  CHECK(again.kept == 6);
  CHECK(again.counts.removed == first.counts.removed);
  REQUIRE(again.answers.size() == first.answers.size());
  for (std::size_t i = 0; i < first.answers.size(); ++i) {
    CHECK(again.answers[i].answer.point == first.answers[i].answer.point);
    CHECK(again.answers[i].answer.choice == first.answers[i].answer.choice);
    CHECK(again.answers[i].answer.estimate.step == first.answers[i].answer.estimate.step);
  }
  const Database read(file.path());
  const Rows rows = read.query("SELECT count(*), count(DISTINCT point) FROM configuration");
  CHECK(rows.rows.front()[0] == std::to_string(first.counts.estimated));
  CHECK(rows.rows.front()[0] == rows.rows.front()[1]);
}

TEST_CASE("a database of another spec, another version or another program is refused") {
  const Scratch file("tsim_db");
  { const Database made(file.path(), bert(4), "1"); }
  CHECK_THROWS_WITH_AS(Database(file.path(), bert(5), "1"),
                       doctest::Contains("results of another spec"), DatabaseError);
  CHECK_THROWS_WITH_AS(Database(file.path(), bert(4), "2"),
                       doctest::Contains("another version of tsim"), DatabaseError);
  const Scratch text("tsim_text");
  std::ofstream(text.path()) << "this is no database, but long enough to be looked at as one";
  CHECK_THROWS_WITH_AS(Database(text.path(), bert(4), "1"), doctest::Contains("not a database"),
                       DatabaseError);
  CHECK_THROWS_WITH_AS(Database(fs::path("/no/such/file")), doctest::Contains("no such file"),
                       DatabaseError);
}

TEST_CASE("SQL that is wrong or writes is refused with the reason") {
  const Scratch file("tsim_db");
  const Database made(file.path(), bert(4), "1");
  CHECK_THROWS_AS(made.query("SELECT * FROM configuration WHERE tensr = 4"), DatabaseError);
  CHECK_THROWS_WITH_AS(made.query("DELETE FROM configuration"),
                       doctest::Contains("only what reads"), DatabaseError);
}

TEST_CASE("a part whose answers cannot all be kept leaves none") {
  const Scratch file("tsim_db");
  const SweepSpec spec = bert(4);
  Database database(file.path(), spec, "1");
  Outcome outcome;
  Answer answer;
  answer.goals = {1.0};
  outcome.all = {answer, answer};  // the same point twice
  outcome.counts.points = 2;
  CHECK_THROWS_AS(database.add(0, outcome, spec), DatabaseError);
  CHECK(database.parts().empty());
  CHECK(database.query("SELECT count(*) FROM configuration").rows.front()[0] == "0");
}

}  // namespace
}  // namespace tsim::sim
