#include "sim/calibrate/journal.hpp"

#include <doctest/doctest.h>

#include <random>
#include <sstream>

using namespace tsim::calibrate;
namespace fs = std::filesystem;

namespace {

const std::string kHeader = R"({"tsim":"measurements 1","device":"x"})";

std::string line_of(const std::string& work) { return Object().text("work", work).str(); }

std::string content(const fs::path& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// A new folder, gone afterwards.
struct Folder {
  fs::path path =
      fs::temp_directory_path() / ("tsim_journal_" + std::to_string(std::random_device{}()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
};

}  // namespace

TEST_CASE("objects are JSON; texts are escaped") {
  CHECK(Object().text("a", "say \"\\\"").number("b", 1.5).numbers("c", {1, 2}).str() ==
        R"({"a":"say \"\\\"","b":1.5,"c":[1,2]})");
}

TEST_CASE("an interrupted run's measurements are found again, also behind an unfinished line") {
  const Folder folder;
  const fs::path file = folder.path / "m.jsonl";
  {
    Journal journal(file, kHeader);
    journal.add("launch host", line_of("launch host"));
  }
  CHECK_FALSE(fs::exists(file));
  std::ofstream(file.string() + ".part", std::ios::app) << R"({"work":"adam 1)";
  Journal journal(file, kHeader);
  CHECK(journal.has("launch host"));
  CHECK_FALSE(journal.has("adam 16"));
  journal.add("adam 16", line_of("adam 16"));
  journal.finish();
  CHECK(content(file) ==
        kHeader + "\n" + line_of("launch host") + "\n" + line_of("adam 16") + "\n");
  CHECK_FALSE(fs::exists(file.string() + ".part"));
}

TEST_CASE("a file that is something else is refused and left as it is") {
  const Folder folder;
  const fs::path file = folder.path / "m.jsonl";
  std::ofstream(file) << "my notes\nmore\n";
  CHECK_THROWS_WITH_AS(Journal(file, kHeader), doctest::Contains("line 1: not a file of"),
                       std::runtime_error);
  CHECK(content(file) == "my notes\nmore\n");
}
