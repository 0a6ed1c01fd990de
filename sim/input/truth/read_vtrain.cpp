#include "sim/input/truth/read_vtrain.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "sim/input/data_files.hpp"
#include "sim/input/read_document.hpp"
#include "sim/input/suggest.hpp"
#include "sim/input/truth/read_truth.hpp"

namespace tsim::sim {
namespace fs = std::filesystem;
namespace {

struct Column {
  std::string_view title;
  std::string_view pointer;  // what it sets; empty: read apart
};
constexpr std::array kColumns{Column{"# GPUs", ""},
                              Column{"global batch", "/workload/global_batch"},
                              Column{"micro batch", "/workload/micro_batch"},
                              Column{"hidden size", "/model/hidden"},
                              Column{"attention heads", "/model/heads"},
                              Column{"# layers", "/model/layers"},
                              Column{"sequence length", "/workload/sequence"},
                              Column{"tensor parallelism", "/strategy/tensor"},
                              Column{"data parallelism", "/strategy/data"},
                              Column{"pipeline parallelism", "/strategy/pipeline"},
                              Column{"iteration time (ms)", ""}};
constexpr int kDevicesPerNode = 8;

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream in(line);
  for (std::string cell; std::getline(in, cell, ',');) {
    while (!cell.empty() && (cell.back() == '\r' || cell.back() == ' ')) { cell.pop_back(); }
    cells.push_back(cell);
  }
  return cells;
}

std::optional<double> number(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const bool whole = !text.empty() && *end == '\0';
  return whole && value > 0 ? std::optional(value) : std::nullopt;
}

/// Places of kColumns in the table.
std::vector<std::size_t> places_of(const std::string& header, Problems& problems) {
  const std::vector<std::string> titles = cells_of(header);
  std::vector<std::size_t> places;
  places.reserve(kColumns.size());
  for (const Column& column : kColumns) {
    const auto found = std::find(titles.begin(), titles.end(), column.title);
    if (found == titles.end()) {
      problems.add({.path = "1:1",
                    .found = "no column " + in_quotes(column.title),
                    .expected = "one of vTrain's tables"});
    }
    places.push_back(static_cast<std::size_t>(found - titles.begin()));
  }
  return places;
}

/// The numbers of a line in the order of kColumns.
std::optional<std::vector<double>> numbers_of(const std::string& line, int number_of_line,
                                              const std::vector<std::size_t>& places,
                                              Problems& problems) {
  const std::vector<std::string> cells = cells_of(line);
  std::vector<double> numbers;
  numbers.reserve(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::string cell = places[i] < cells.size() ? cells[places[i]] : std::string();
    const std::optional<double> value = number(cell);
    if (!value) {
      problems.add({.path = std::to_string(number_of_line) + ":1",
                    .found = in_quotes(cell) + " as " + std::string(kColumns[i].title),
                    .expected = "a number above 0"});
      return std::nullopt;
    }
    numbers.push_back(*value);
  }
  return numbers;
}

Json row_of(const std::vector<double>& numbers, int line) {
  Json row{{"id", "line" + std::to_string(line)}};
  for (std::size_t i = 0; i < kColumns.size(); ++i) {
    if (kColumns[i].pointer.empty()) { continue; }
    row["set"][std::string(kColumns[i].pointer)] = static_cast<std::int64_t>(numbers[i]);
  }
  row["set"]["/model/max_positions"] = row["set"]["/workload/sequence"];
  const auto devices = static_cast<std::int64_t>(numbers.front());
  row["set"]["/cluster/nodes"] = std::max<std::int64_t>(devices / kDevicesPerNode, 1);
  row["set"]["/cluster/devices_per_node"] = std::min<std::int64_t>(devices, kDevicesPerNode);
  std::ostringstream time;
  time << numbers.back() << " ms";
  row["measured"]["step"] = time.str();
  return row;
}

}  // namespace

validate::Source read_vtrain(const fs::path& path) {
  std::string why;
  const std::optional<std::string> text = file_text(path, why);
  if (!text) { throw InputErrors(path.string(), {{.path = {}, .found = why}}); }
  Problems problems;
  std::istringstream in(*text);
  std::string line;
  std::getline(in, line);
  const std::vector<std::size_t> places = places_of(line, problems);
  Json rows = Json::array();
  bool several_nodes = false;
  for (int at = 2; problems.empty() && std::getline(in, line); ++at) {
    if (line.empty()) { continue; }
    const auto numbers = numbers_of(line, at, places, problems);
    if (!numbers) { continue; }
    several_nodes = several_nodes || numbers->front() > kDevicesPerNode;
    rows.push_back(row_of(*numbers, at));
  }
  const fs::path sample =
      data_folder() / "truth" / (several_nodes ? "vtrain_multi.json" : "vtrain_single.json");
  std::optional<Json> document = read_json_file(sample, problems);
  if (!problems.empty()) { throw InputErrors(path.string(), problems.errors()); }
  (*document)["rows"] = std::move(rows);
  (*document)["notes"] = Json::array({"The whole table."});
  return read_truth_text(document->dump(), path);
}

}  // namespace tsim::sim
