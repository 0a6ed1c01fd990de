// Searches that are stopped, killed or run out of disk, and what is left of them.
#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <string>

#include "sim/sweep/database.hpp"
#include "sim/sweep/run_sweep.hpp"
#include "tests/sweep/scratch.hpp"

namespace tsim::sim {
namespace {

using testing::Scratch;

constexpr std::uint64_t kPart = 16;

/// 2 x 3 x 3 x 4 x 2 x 3 = 432 points in 27 parts.
SweepSpec space() {
  Json spec;
  spec["scenario"] = {{"model", "bert-base"},
                      {"workload", {{"global_batch", 32}, {"micro_batch", 1}, {"sequence", 128}}},
                      {"cluster", {{"base", "a100_selene"}}},
                      {"strategy", Json::object()},
                      {"precision", {{"compute", "fp16"}}}};
  spec["vary"] = {{"/strategy/tensor", {1, 2, 4}},
                  {"/strategy/pipeline", {1, 2, 3}},
                  {"/strategy/data", "rest"},
                  {"/workload/micro_batch", {1, 2, 3, 4}},
                  {"/strategy/flash_attention", {false, true}},
                  {"/strategy/zero", {0, 1, 3}},
                  {"/strategy/overlap_gradients", {false, true}}};
  spec["search"] = "grid";
  spec["events"] = 0;
  return read_spec(spec, "test.json");
}

using Told = std::function<void(const Progress&)>;

SweepReport searched(const SweepSpec& spec, const std::filesystem::path& file, Told progress = {}) {
  stop_requested = 0;
  return run_sweep(spec, {.jobs = 1,
                          .database = file,
                          .version = "1",
                          .progress = std::move(progress),
                          .part = kPart});
}

/// A child that does this; how it ended.
int status_of_child(const std::function<int()>& work) {
  const pid_t child = fork();
  if (child == 0) { _exit(work()); }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return status;
}

std::string only_cell(const Database& database, const std::string& sql) {
  return database.query(sql).rows.at(0).at(0);
}

/// Whole parts only: as many rows as the parts say, and the point of each once.
void check_whole(const std::filesystem::path& file) {
  const Database database(file);
  const std::string rows = only_cell(database, "SELECT count(*) FROM configuration");
  CHECK(rows == only_cell(database, "SELECT count(DISTINCT point) FROM configuration"));
  CHECK(rows == only_cell(database, "SELECT coalesce(sum(estimated), 0) FROM part"));
}

void check_same(const SweepReport& a, const SweepReport& b) {
  CHECK(a.counts.points == b.counts.points);
  CHECK(a.counts.legal == b.counts.legal);
  CHECK(a.counts.estimated == b.counts.estimated);
  CHECK(a.counts.removed == b.counts.removed);
  REQUIRE(a.answers.size() == b.answers.size());
  for (std::size_t i = 0; i < a.answers.size(); ++i) {
    CHECK(a.answers[i].answer.point == b.answers[i].answer.point);
  }
}

TEST_CASE("a search that was killed goes on from the last whole part") {
  const SweepSpec spec = space();
  const SweepReport whole = searched(spec, {});
  REQUIRE(whole.counts.points == 432);
  for (const std::uint64_t parts : {1U, 5U, 26U}) {
    const Scratch file("tsim_killed");
    const int status = status_of_child([&] {
      searched(spec, file.path(), [&](const Progress& p) {
        if (p.points >= parts * kPart) { kill(getpid(), SIGKILL); }
      });
      return 0;
    });
    CHECK(WIFSIGNALED(status));
    check_whole(file.path());
    const SweepReport resumed = searched(spec, file.path());
    CHECK(resumed.kept == parts * kPart);
    check_same(resumed, whole);
    check_whole(file.path());
  }
}

TEST_CASE("a search that is killed at any time leaves whole parts") {
  const SweepSpec spec = space();
  const SweepReport whole = searched(spec, {});
  const Scratch file("tsim_killed");
  for (const useconds_t delay : {20'000U, 50'000U, 110'000U}) {
    const pid_t child = fork();
    if (child == 0) {
      searched(spec, file.path());
      _exit(0);
    }
    usleep(delay);
    kill(child, SIGKILL);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
  }
  check_same(searched(spec, file.path()), whole);
  check_whole(file.path());
}

TEST_CASE("an interrupted search ends after the part under way and goes on from there") {
  const SweepSpec spec = space();
  const Scratch file("tsim_stopped");
  const SweepReport stopped =
      searched(spec, file.path(), [](const Progress&) { stop_requested = 1; });
  CHECK(stopped.stopped);
  CHECK(stopped.counts.points == kPart);
  check_whole(file.path());
  const SweepReport resumed = searched(spec, file.path());
  CHECK_FALSE(resumed.stopped);
  CHECK(resumed.kept == kPart);
  check_same(resumed, searched(spec, {}));
}

TEST_CASE("a file that cannot grow ends a search with its name, and keeps whole parts") {
  const SweepSpec spec = space();
  const Scratch file("tsim_full");
  const int status = status_of_child([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    constexpr rlim_t kMost = 60'000;  // bytes of a file: some parts
    const rlimit limit{kMost, kMost};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) { return 3; }
    try {
      searched(spec, file.path());
    } catch (const DatabaseError& error) {
      return std::string(error.what()).starts_with(file.path().string() + ": ") ? 1 : 2;
    }
    return 0;
  });
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 1);
  check_whole(file.path());
  const SweepReport resumed = searched(spec, file.path());
  CHECK(resumed.kept < 432);
  check_same(resumed, searched(spec, {}));
}

}  // namespace
}  // namespace tsim::sim
