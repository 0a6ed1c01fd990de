#include "sim/calibrate/work.hpp"

#include <doctest/doctest.h>

using namespace tsim::calibrate;

TEST_CASE("a line of work is a kind and its values; comments and repetitions are left out") {
  std::vector<BadLine> bad;
  const auto works = read_work(
      "# shapes\n\n  gemm  bf16 nt 4096 1024 2KiB\ngemm bf16 nt 4096 1024 2KiB\nlaunch host\n",
      bad);
  CHECK(bad.empty());
  REQUIRE(works.size() == 2);
  CHECK(works[0].line == "gemm bf16 nt 4096 1024 2KiB");
  CHECK(works[0].kind == "gemm");
  CHECK(works[0].words == std::vector<std::string>{"bf16", "nt", "4096", "1024", "2KiB"});
  CHECK(works[1].line == "launch host");
}

TEST_CASE("every bad line is told with its number, what was found and what was expected") {
  std::vector<BadLine> bad;
  const auto works = read_work(
      "gem bf16 nt 1 1 1\ngemm bf17 nt 1 1 1\ngemm bf16 nt 0 1 1\n"
      "gemm bf16 nt 1 1\nadam 16\n",
      bad);
  CHECK(works.size() == 1);
  REQUIRE(bad.size() == 4);
  CHECK(bad[0].number == 1);
  CHECK(bad[0].why == "unknown kind \"gem\"");
  CHECK(bad[1].why == "DTYPE: found \"bf17\", expected one of bf16, fp16, fp32, tf32, fp8");
  CHECK(bad[2].why == "M: found \"0\", expected a whole number above 0");
  CHECK(bad[3].number == 4);
  CHECK(bad[3].why == "found 4 values after gemm, expected 5");
}

TEST_CASE("counts may have a binary suffix") {
  CHECK(to_count("64") == 64);
  CHECK(to_count("4KiB") == 4096);
  CHECK(to_count("1GiB") == std::int64_t{1} << 30);
  for (const char* const word : {"", "KiB", "-1", "1kb", "1.5", "1KiBs", "99999999999999999999"}) {
    CHECK(to_count(word) == -1);
  }
}

TEST_CASE("the default work is all understood, and has collectives for several devices only") {
  for (const int gpus : {1, 2, 8}) {
    std::string text;
    bool collective = false;
    for (const std::string& line : default_work(gpus)) {
      text += line + "\n";
      collective = collective || line.starts_with("collective");
    }
    std::vector<BadLine> bad;
    CHECK(read_work(text, bad).size() > 900);
    CHECK(bad.empty());
    CHECK(collective == (gpus > 1));
  }
}
