// Rules that every file of the project keeps.
#include <doctest/doctest.h>

#include <map>
#include <regex>
#include <string>
#include <vector>

#include "tests/structure/source_tree.hpp"

namespace tsim::structure {
namespace {

constexpr std::size_t kMostLines = 400;

using Problems = std::vector<std::string>;

/// "path:line" of every line of `files` where `pattern` is found.
Problems matches(const std::vector<File>& files, const std::regex& pattern) {
  Problems found;
  for (const File& file : files) {
    std::size_t number = 0;
    for (const std::string& line : lines_of(file.text)) {
      ++number;
      if (line.size() < 10'000 && std::regex_search(line, pattern)) {
        found.push_back(file.path + ":" + std::to_string(number));
      }
    }
  }
  return found;
}

std::vector<File> cpp_files() {
  std::vector<File> files = project_files();
  std::erase_if(files, [](const File& file) { return !is_cpp(file.path); });
  return files;
}

}  // namespace

TEST_CASE("the files are found") {
  CHECK(room_files().size() > 50);
  CHECK(project_files().size() > room_files().size());
}

TEST_CASE("no C++ file has more than 400 lines") {
  Problems problems;
  for (const File& file : cpp_files()) {
    if (lines_of(file.text).size() > kMostLines) { problems.push_back(file.path); }
  }
  CHECK(joined(problems) == "");
}

TEST_CASE("every header begins with its purpose and is included once") {
  Problems problems;
  for (const File& file : cpp_files()) {
    if (!file.path.ends_with(".hpp")) { continue; }
    if (!std::regex_search(file.text, std::regex("^// [A-Z\"`]")) ||
        file.text.find("\n#pragma once\n") == std::string::npos) {
      problems.push_back(file.path);
    }
  }
  CHECK(joined(problems) == "");
}

TEST_CASE("nothing is left to do in a comment: it is an issue instead") {
  // Spelt in pieces so that this file does not find itself.
  CHECK(joined(matches(project_files(), std::regex("\\b(TO"
                                                   "DO|FIX"
                                                   "ME|X"
                                                   "XX)\\b"))) == "");
}

TEST_CASE("no file names a place of one machine") {
  CHECK(joined(matches(project_files(), std::regex("(^|[^\\w./~])/(wo"
                                                   "rk|home|ro"
                                                   "ot)(/|\\b)"))) == "");
}

TEST_CASE("the rooms have no macros, no bare new and no exit") {
  CHECK(joined(matches(room_files(), std::regex("^\\s*#\\s*define"))) == "");
  CHECK(joined(matches(room_files(),
                       std::regex("^[^/\"]*[=(,]\\s*new\\s+\\w|^[^/\"]*\\bdelete\\s+\\w"))) == "");
  CHECK(joined(matches(room_files(), std::regex("^[^/\"]*(\\bstd::|[^\\w_])(exit|abort)\\("))) ==
        "");
}

TEST_CASE("two headers define no type of one name: the linker would mix them up in silence") {
  const std::regex space("^namespace (tsim[a-z_:]*) \\{");
  const std::regex type("^(?:struct|class|enum class) (\\w+)[^;]*\\{");
  std::map<std::string, std::string> defined;
  Problems problems;
  for (const File& file : room_files()) {
    if (!file.path.ends_with(".hpp")) { continue; }
    std::string name;
    for (const std::string& line : lines_of(file.text)) {
      std::smatch match;
      if (std::regex_search(line, match, space)) { name = match[1]; }
      if (!std::regex_search(line, match, type)) { continue; }
      const auto [at, added] = defined.try_emplace(name + "::" + match[1].str(), file.path);
      if (!added) { problems.push_back(at->first + ": " + at->second + ", " + file.path); }
    }
  }
  CHECK(defined.size() > 300);
  CHECK(joined(problems) == "");
}

TEST_CASE("the rooms use namespaces by name, but for literals and limits") {
  CHECK(joined(matches(room_files(), std::regex("using namespace (?!\\w*(literals|_limits);)"))) ==
        "");
}

TEST_CASE("text files end with a line break and have no trailing blanks or tabs") {
  Problems problems;
  for (const File& file : project_files()) {
    if (file.path.find("tests/golden/") == 0 || file.path.find("tests/fuzz/") == 0) { continue; }
    if (!file.text.empty() && !file.text.ends_with('\n')) { problems.push_back(file.path); }
  }
  CHECK(joined(problems) == "");
  CHECK(joined(matches(cpp_files(), std::regex("[ \t]$|\t"))) == "");
}

}  // namespace tsim::structure
