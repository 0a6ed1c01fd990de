#include "sim/input/truth/read_vtrain.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "sim/input/input_error.hpp"

using namespace tsim;
namespace fs = std::filesystem;

namespace {

const std::string kHeader =
    "# GPUs,global batch,micro batch,hidden size,attention heads,# layers,sequence length,tensor "
    "parallelism,data parallelism,pipeline parallelism,iteration time (ms)\n";

fs::path table(const std::string& name, const std::string& text) {
  const fs::path path = fs::temp_directory_path() / ("tsim_vtrain_" + name + ".csv");
  std::ofstream(path) << text;
  return path;
}

}  // namespace

TEST_CASE("vTrain's table: a line is a row with its time") {
  const validate::Source source =
      sim::read_vtrain(table("good", kHeader + "16,16,8,1024,16,24,1024,2,4,2,372.16\r\n"));
  REQUIRE(source.rows.size() == 1);
  CHECK(source.rows[0].measured.value == doctest::Approx(0.37216));
  const std::string& document = source.rows[0].choices[0].document;
  CHECK(document.find("\"nodes\":2") != std::string::npos);
  CHECK(document.find("\"pipeline\":2") != std::string::npos);
  CHECK(document.find("\"network\"") != std::string::npos);
}

TEST_CASE("vTrain's table: a missing column and a cell that is no number are told") {
  CHECK_THROWS_WITH_AS(sim::read_vtrain(table("column", "# GPUs,global batch\n1,2\n")),
                       doctest::Contains("no column \"micro batch\""), sim::InputErrors);
  CHECK_THROWS_WITH_AS(
      sim::read_vtrain(table("cell", kHeader + "2,16,x,1024,16,24,1024,1,1,2,3\n")),
      doctest::Contains("2:1: found \"x\" as micro batch"), sim::InputErrors);
  CHECK_THROWS_AS(sim::read_vtrain("/no/such/table.csv"), sim::InputErrors);
}
