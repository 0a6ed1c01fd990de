// The rooms include each other one way only, and each library stays where it belongs.
#include <doctest/doctest.h>

#include <array>
#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include "tests/structure/source_tree.hpp"

namespace tsim::structure {
namespace {

constexpr std::array kRooms{"models/", "cost/", "strategies/", "sim/", "sim/cli/"};

/// Number of the room in the order in which rooms may include each other; -1 outside of them.
int room_of(const std::string& path) {
  int room = -1;
  for (std::size_t i = 0; i < kRooms.size(); ++i) {
    if (path.starts_with(kRooms[i])) { room = static_cast<int>(i); }
  }
  return room;
}

/// What is wrong with `file` including `included`; empty when nothing is.
std::string problem(const File& file, const std::string& included) {
  const int room = room_of(included);
  if (room < 0) { return file.path + " includes " + included + ", which is in no room"; }
  if (room > room_of(file.path)) {
    return file.path + " includes " + included + ", which is above";
  }
  if (!std::filesystem::exists(std::filesystem::path(TSIM_SOURCE_DIR) / included)) {
    return file.path + " includes " + included + ", which is no file";
  }
  return {};
}

struct Library {
  const char* headers;  // of the included name
  const char* allowed;  // of the including file's path
};

// Both are slow to parse, or would tie a lower room to a format or an engine.
constexpr std::array kLibraries{
    Library{"Eigen/.*", "cost/.*\\.cpp|sim/calibrate/cpu/.*\\.cpp"},  // there it is timed
    Library{"zlib\\.h", "sim/calibrate/import/import_points\\.cpp"},
    Library{"boost/.*", "models/op_graph\\.cpp|strategies/task_graph\\.cpp|sim/.*topology.*\\.cpp"},
    Library{"nlohmann/.*",
            "sim/input/(read_document|json_reader)\\.hpp|"
            "sim/input/.*\\.cpp|sim/cli/((calibrate|validate)/)?(print|trace)_.*\\.cpp"},
    Library{"pugixml.*", "sim/input/import/xml_document\\.cpp"},
    Library{"simgrid/.*", "sim/simgrid_network\\.cpp|sim/input/import/simgrid_platform\\.cpp"},
    Library{"CLI/.*", "sim/cli/options(\\.cpp|/.*)"},
    // CUDA's part of the calibration is built by itself.
    Library{"(cuda_runtime|cuda_bf16|cublasLt|cudnn|nccl|nvml|dlfcn|unistd)\\.h",
            "sim/calibrate/cuda/.*"},
    Library{"sqlite3\\.h", "sim/sweep/(database\\.cpp|statement\\.hpp)"},
    Library{"mpi\\.h", "sim/sweep/mpi_workers\\.cpp"},
    Library{"(sys|unistd|spawn|poll).*",
            "sim/(simulate|validate/run_rows|input/import/run_apart|calibrate/device_text|"
            "calibrate/check/tsim_measure|sweep/workers|"
            "cli/(write_file|command_synthesise|command_sweep))\\.cpp"},
    // The standard library.
    Library{"[a-z_0-9]+", ".*"}};

bool allowed(const File& file, const std::string& included) {
  return std::any_of(kLibraries.begin(), kLibraries.end(), [&](const Library& library) {
    return std::regex_match(included, std::regex(library.headers)) &&
           std::regex_match(file.path, std::regex(library.allowed));
  });
}

}  // namespace

TEST_CASE("no room includes one above it: models, cost, strategies, sim, sim/cli") {
  std::vector<std::string> problems;
  for (const File& file : room_files()) {
    for (const std::string& included : includes_of(file, '"', '"')) {
      const std::string told = problem(file, included);
      if (!told.empty()) { problems.push_back(told); }
    }
  }
  CHECK(joined(problems) == "");
}

TEST_CASE("an upward include, an unknown room and a missing file are found") {
  CHECK(problem({"cost/roofline.cpp", ""}, "models/kernel.hpp").empty());
  CHECK(problem({"sim/simulate.cpp", ""}, "sim/cli/options.hpp").ends_with("which is above"));
  CHECK(problem({"models/model.cpp", ""}, "cost/device.hpp").ends_with("which is above"));
  CHECK(problem({"models/model.cpp", ""}, "tests/main.cpp").ends_with("which is in no room"));
  CHECK(problem({"models/model.cpp", ""}, "models/none.hpp").ends_with("which is no file"));
}

TEST_CASE("a library is included only where it is allowed") {
  std::vector<std::string> problems;
  for (const File& file : room_files()) {
    for (const std::string& included : includes_of(file, '<', '>')) {
      if (!allowed(file, included)) {
        problems.push_back(file.path + " includes <" + included + ">");
      }
    }
  }
  CHECK(joined(problems) == "");
}

TEST_CASE("the allow-list keeps SimGrid, JSON and CLI11 in their files") {
  CHECK(allowed({"sim/simgrid_network.cpp", ""}, "simgrid/s4u.hpp"));
  CHECK_FALSE(allowed({"sim/replay.cpp", ""}, "simgrid/s4u.hpp"));
  CHECK_FALSE(allowed({"models/model.cpp", ""}, "nlohmann/json.hpp"));
  CHECK_FALSE(allowed({"sim/cli/main.cpp", ""}, "CLI/App.hpp"));
  CHECK_FALSE(allowed({"models/op_graph.hpp", ""}, "boost/graph/adjacency_list.hpp"));
  CHECK(allowed({"models/model.cpp", ""}, "vector"));
}

}  // namespace tsim::structure
