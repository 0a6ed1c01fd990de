#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "sim/input/input_error.hpp"
#include "sim/input/read_device.hpp"
#include "sim/input/truth/read_split.hpp"
#include "sim/validate/fit_device.hpp"

using namespace tsim;
namespace fs = std::filesystem;

namespace {

/// A file in a folder of this test's own.
fs::path written(const std::string& name, const std::string& text) {
  const fs::path folder = fs::temp_directory_path() / "tsim_split_test";
  fs::create_directories(folder);
  std::ofstream(folder / name) << text;
  return folder / name;
}

const std::string kSplit =
    "{\"device\": \"a100-sxm-80g\", \"parameters\": [{\"at\": \"/gemm/ceiling\", \"meaning\": "
    "\"share\", \"least\": 0.5, \"most\": 0.9}, {\"at\": \"/host_launch\", \"meaning\": \"time\", "
    "\"least\": \"1 us\", \"most\": \"40 us\"}], \"train\": [{\"source\": \"s\", \"rows\": "
    "\"1\"}]}";

validate::Source source_on(const std::string& device, const std::string& step) {
  validate::Source source{.name = "s"};
  for (const char* id : {"r1", "r2"}) {
    validate::Row row{.id = id};
    row.measured.figure = validate::Figure::step;
    row.measured.value = std::stod(step);
    row.choices.push_back(
        {"",
         "{\"model\": \"gpt2\", \"workload\": {\"global_batch\": 8, \"micro_batch\": 8}, "
         "\"cluster\": {\"devices_per_node\": 1, \"device\": \"" +
             device + "\"}, \"strategy\": {}, \"precision\": {\"compute\": \"bf16\"}}"});
    source.rows.push_back(row);
  }
  return source;
}

}  // namespace

TEST_CASE("a split's starts are the device file's, in base units") {
  const validate::Split split = sim::read_split(written("split.json", kSplit));
  REQUIRE(split.parameters.size() == 2);
  const cost::Device device = sim::read_device("a100-sxm-80g");
  CHECK(split.parameters[0].start == device.gemm.ceiling);
  CHECK(split.parameters[1].start == doctest::Approx(device.host_launch.value));
  CHECK(split.parameters[1].most == doctest::Approx(40e-6));
}

TEST_CASE("a split's mistakes are told at once") {
  const std::string wrong =
      "{\"device\": \"a100-sxm-80g\", \"parameters\": [{\"at\": \"/gem/ceiling\", \"meaning\": "
      "\"m\", \"least\": 0.5, \"most\": 0.9}, {\"at\": \"/gemm/ceiling\", \"meaning\": \"m\", "
      "\"least\": 0.9, \"most\": 0.5}], \"train\": []}";
  try {
    sim::read_split(written("wrong.json", wrong));
    FAIL("no problem was told");
  } catch (const sim::InputErrors& errors) {
    REQUIRE(errors.problems().size() == 3);
    CHECK(errors.problems()[0].path == "/parameters/0/at");
    CHECK(errors.problems()[1].path == "/parameters/1/most");
    CHECK(errors.problems()[2].path == "/train");
  }
}

TEST_CASE("training rows are those that the split names on its device") {
  const validate::Split split = sim::read_split(written("split.json", kSplit));
  const auto training =
      training_rows(split, {source_on("a100-sxm-80g", "1"), source_on("b200", "1")});
  REQUIRE(training.size() == 1);
  REQUIRE(training[0].rows.size() == 1);
  CHECK(training[0].rows[0].id == "r1");
}

TEST_CASE("a fit finds the figure that a step was made with, and the file keeps the record") {
  const validate::Split split = sim::read_split(written(
      "one.json",
      "{\"device\": \"a100-sxm-80g\", \"parameters\": [{\"at\": \"/gemm/ceiling\", \"meaning\": "
      "\"share\", \"least\": 0.3, \"most\": 0.9}], \"train\": [{\"source\": \"s\"}]}"));
  // The step that a ceiling of 0.6 takes.
  validate::Source source = source_on("a100-sxm-80g", "1");
  const validate::Outcome made = outcome_of(source.rows[0], source.rows[0].choices[0], source,
                                            {{"a100-sxm-80g", sim::changed_device(split, {0.6})}});
  REQUIRE(made.ran);
  for (validate::Row& row : source.rows) { row.measured.value = made.step; }
  const std::vector<validate::Source> training{source};
  const validate::DeviceFit fit = fit_device(split, training, 1);
  CHECK(fit.fit.values[0] == doctest::Approx(0.6).epsilon(1e-3));
  CHECK(fit.fit.before > 0.01);
  CHECK(fit.fit.after < 1e-4);
  CHECK(fit.rows == std::vector<std::string>{"s/r1", "s/r2"});
  CHECK(fit.left_out.empty());

  const fs::path path = fs::temp_directory_path() / "tsim_split_test" / "fitted.json";
  std::ofstream(path) << sim::fitted_device(
      split, {fit.fit.values, fit.fit.errors, fit.rows, fit.fit.before, fit.fit.after}, path);
  const cost::Device device = sim::read_device(path.string());
  CHECK(device.name == "fitted");
  CHECK(device.gemm.ceiling == doctest::Approx(0.6).epsilon(1e-3));
  const auto record = sim::fit_record_of(path.string());
  REQUIRE(record);
  CHECK(record->split == "one");
  CHECK(record->rows == fit.rows);
  CHECK_FALSE(sim::fit_record_of("a100-sxm-80g"));
}
