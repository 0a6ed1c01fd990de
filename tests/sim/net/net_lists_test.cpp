#include "sim/net/net_lists.hpp"

#include <doctest/doctest.h>

using namespace tsim;
using namespace tsim::literals;

namespace {

std::string complaint(const sim::Problems& problems) {
  return problems.empty() ? "" : to_text(problems.errors().front());
}

std::string ranks_complaint(std::string_view text) {
  sim::Problems problems;
  sim::read_ranks(text, 8, "--ranks", problems);
  return complaint(problems);
}

std::string sizes_complaint(std::string_view text) {
  sim::Problems problems;
  sim::read_sizes(text, "--sizes", problems);
  return complaint(problems);
}

}  // namespace

TEST_CASE("ranks are numbers and ranges in the order written") {
  sim::Problems problems;
  CHECK(sim::read_ranks("6,0-2,7", 8, "--ranks", problems) == std::vector<int>{6, 0, 1, 2, 7});
  CHECK(problems.empty());
}

TEST_CASE("ranks that are not there, are twice there or are no numbers are refused") {
  CHECK(ranks_complaint("0-8").starts_with("--ranks: found \"0-8\", expected devices such as"));
  CHECK(ranks_complaint("3,1-4") == "--ranks: found device 3 twice, expected each device once");
  for (const char* const text : {"", "a", "1-", "-1", "4-2", "1,,2", "1 2"}) {
    CAPTURE(text);
    CHECK(ranks_complaint(text) != "");
  }
}

TEST_CASE("sizes are one, several, or grow by a factor as far as the last") {
  sim::Problems problems;
  const auto read = [&](std::string_view text) {
    return sim::read_sizes(text, "--sizes", problems);
  };
  CHECK(read("64MiB") == std::vector<Bytes>{64_MiB});
  CHECK(read("1KiB,3MB") == std::vector<Bytes>{1_KiB, 3_MB});
  CHECK(read("1KiB:8KiB") == std::vector<Bytes>{1_KiB, 2_KiB, 4_KiB, 8_KiB});
  CHECK(read("1KiB:100KiB:4") == std::vector<Bytes>{1_KiB, 4_KiB, 16_KiB, 64_KiB});
  CHECK(read("0B") == std::vector<Bytes>{0_B});
  CHECK(problems.empty());
}

TEST_CASE("sizes without a unit, backwards or with a factor that does not grow are refused") {
  for (const char* const text : {"", "64", "1KiB:", "4KiB:1KiB", "1KiB:4KiB:1", "1KiB:4KiB:x",
                                 "1KiB:4KiB:2:3", "0B:1KiB", "1B:1GiB:1.0001", "2EB"}) {
    CAPTURE(text);
    CHECK(sizes_complaint(text).starts_with("--sizes: found "));
  }
}
