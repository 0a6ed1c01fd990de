#include "sim/cli/write_file.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <ostream>
#include <stdexcept>
#include <string>

namespace tsim::cli {
namespace {

namespace fs = std::filesystem;

/// An empty folder that lasts as long as the object.
class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("tsim_write_file_" + std::to_string(::getpid()))) {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path_); }
  fs::path operator/(const std::string& name) const { return path_ / name; }
  std::ptrdiff_t files() const {
    return std::distance(fs::directory_iterator(path_), fs::directory_iterator());
  }

 private:
  fs::path path_;
};

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_text(const fs::path& path, const std::string& text) {
  write_file(path, [&](std::ostream& out) { out << text; });
}

}  // namespace

TEST_CASE("a written file holds what was written and has no companion") {
  const Folder folder;
  write_text(folder / "a.json", "one");
  CHECK(text_of(folder / "a.json") == "one");
  CHECK(folder.files() == 1);
}

TEST_CASE("writing replaces a file that was there") {
  const Folder folder;
  write_text(folder / "a.json", "a longer text");
  write_text(folder / "a.json", "two");
  CHECK(text_of(folder / "a.json") == "two");
}

TEST_CASE("a writer that fails half way leaves the old file and nothing else") {
  const Folder folder;
  write_text(folder / "a.json", "old");
  const auto fails = [](std::ostream& out) {
    out << "half";
    throw std::runtime_error("no more");
  };
  CHECK_THROWS_AS(write_file(folder / "a.json", fails), std::runtime_error);
  CHECK(text_of(folder / "a.json") == "old");
  CHECK(folder.files() == 1);
}

TEST_CASE("a folder that does not exist is named with the reason") {
  const Folder folder;
  const fs::path path = folder / "none" / "a.json";
  CHECK_THROWS_WITH_AS(write_text(path, "x"),
                       ("cannot write " + path.string() + ": No such file or directory").c_str(),
                       NotWritable);
}

TEST_CASE("a folder is not replaced by a file") {
  const Folder folder;
  fs::create_directory(folder / "a.json");
  CHECK_THROWS_AS(write_text(folder / "a.json", "x"), NotWritable);
  CHECK(fs::is_directory(folder / "a.json"));
}

TEST_CASE("a link stays a link and its target is replaced") {
  const Folder folder;
  write_text(folder / "target", "old");
  fs::create_symlink("target", folder / "link");
  write_text(folder / "link", "new");
  CHECK(fs::is_symlink(folder / "link"));
  CHECK(text_of(folder / "target") == "new");
}

TEST_CASE("a device is written to and stays what it is") {
  write_text("/dev/null", "x");
  CHECK(fs::is_character_file("/dev/null"));
}

TEST_CASE("a full device is an error") {
  CHECK_THROWS_AS(write_text("/dev/full", std::string(1 << 20, 'x')), NotWritable);
}

}  // namespace tsim::cli
