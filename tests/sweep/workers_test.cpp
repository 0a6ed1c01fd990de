#include "sim/sweep/workers.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace tsim::sim {
namespace {

/// Numbers from 0 to below `count`, and what came back for each.
std::map<std::string, std::string> replies(int jobs, int count, const Serve& serve) {
  std::map<std::string, std::string> found;
  int next = 0;
  crew_of_processes(jobs, serve)({[&]() -> std::optional<std::string> {
                                    return next < count ? std::optional(std::to_string(next++))
                                                        : std::nullopt;
                                  },
                                  [&](std::string_view request, std::string_view reply) {
                                    CHECK(found.emplace(request, reply).second);
                                  }});
  return found;
}

TEST_CASE("every request is answered once, by one process or several") {
  const Serve twice = [](std::string_view request) {
    return std::to_string(2 * std::stoi(std::string(request)));
  };
  for (const int jobs : {1, 3}) {
    const auto found = replies(jobs, 50, twice);
    CHECK(found.size() == 50);
    CHECK(found.at("21") == "42");
  }
}

TEST_CASE("what a lost worker had in hand is run again by a new one") {
  const auto mark =
      std::filesystem::temp_directory_path() / ("tsim_lost_" + std::to_string(::getpid()));
  const Serve serve = [&](std::string_view request) {
    if (request == "7" && !std::filesystem::exists(mark)) {
      std::ofstream(mark) << "once";
      kill(::getpid(), SIGKILL);
    }
    return std::string(request);
  };
  const auto found = replies(2, 20, serve);
  CHECK(found.size() == 20);
  CHECK(std::filesystem::remove(mark));
}

TEST_CASE("a request that loses every worker ends the work with an error") {
  const Serve serve = [](std::string_view request) {
    if (request == "3") { kill(::getpid(), SIGKILL); }
    return std::string(request);
  };
  CHECK_THROWS_WITH(replies(2, 5, serve),
                    "a worker was lost three times at the same part of the work");
}

TEST_CASE("what a worker throws is thrown where work is handed out") {
  const Serve serve = [](std::string_view) -> std::string {
    throw std::runtime_error("no such thing");
  };
  CHECK_THROWS_WITH(replies(2, 5, serve), "no such thing");
}

}  // namespace
}  // namespace tsim::sim
