#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "models/registry.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/print_devices.hpp"

namespace tsim::cli {
namespace {

using nlohmann::json;

std::string printed(const ModelsOptions& options) {
  std::ostringstream out;
  std::ostringstream err;
  CHECK(models_command(options, out, err) == 0);
  CHECK(err.str().empty());
  return out.str();
}

}  // namespace

TEST_CASE("the names of all models are printed one a line") {
  const std::string names = printed({.names_only = true});
  CHECK(std::count(names.begin(), names.end(), '\n') == std::ssize(models::registry()));
  CHECK(names.find("bert-base\n") != std::string::npos);
}

TEST_CASE("the list of models tells parameters to the last one") {
  const std::string text = printed({});
  const std::size_t line = text.find("\nbert-base ") + 1;
  CHECK(text.substr(line, text.find('\n', line) - line).ends_with("109,482,240"));
}

TEST_CASE("the list of models as JSON has a source for every model") {
  const json document = json::parse(printed({.json = true}));
  CHECK(document.at("version") == 1);
  CHECK(document.at("models").size() == models::registry().size());
  for (const json& model : document.at("models")) {
    CAPTURE(model.at("name").get<std::string>());
    CHECK_FALSE(model.at("source").get<std::string>().empty());
    CHECK(model.at("parameters").get<std::int64_t>() > 0);
  }
}

TEST_CASE("a device is listed with its units in text and in base units in JSON") {
  const std::vector<cost::Device> devices{
      {.name = "mlu270",
       .description = "a card",
       .memory = {std::int64_t{16} << 30},
       .memory_bandwidth = {102e9},
       .matrix_peaks = {{models::DType::int8, {128e12}}, {models::DType::int16, {64e12}}},
       .vector_peak = {2e12}}};
  std::ostringstream text;
  print_devices_text(devices, text);
  for (const char* part : {"mlu270", "16.00 GiB", "102 GB/s", "int8 128, int16 64.0", "a card"}) {
    CAPTURE(part);
    CHECK(text.str().find(part) != std::string::npos);
  }
  std::ostringstream out;
  print_devices_json(devices, out);
  const json device = json::parse(out.str()).at("devices").at(0);
  CHECK(device.at("memory_bytes") == 17'179'869'184);
  CHECK(device.at("memory_bandwidth") == 102e9);
  CHECK(device.at("peaks") == json{{"int8", 128e12}, {"int16", 64e12}});
}

}  // namespace tsim::cli
