#include "sim/calibrate/journal.hpp"

#include <array>
#include <charconv>
#include <stdexcept>

namespace tsim::calibrate {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kMark = R"({"tsim":"measurements 1")";
constexpr std::string_view kWork = R"({"work":")";

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '"' || c == '\\') { result += '\\'; }
    result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return result;
}

std::string shown(double value) {
  std::array<char, 32> digits{};
  const auto [end, failure] = std::to_chars(digits.data(), digits.data() + digits.size(), value,
                                            std::chars_format::general, 6);
  return failure == std::errc{} ? std::string(digits.data(), end) : "0";
}

/// The whole lines of a file of measurements; an unfinished last one is dropped.
std::vector<std::string> lines_of(const fs::path& file) {
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    if (line.empty()) { continue; }
    const bool known = lines.empty() ? line.starts_with(kMark) : line.starts_with(kWork);
    if (!known && !in.eof()) {
      throw std::runtime_error(file.string() + ", line " + std::to_string(lines.size() + 1) +
                               ": not a file of measurements of this version");
    }
    if (known && line.ends_with('}')) { lines.push_back(line); }
  }
  return lines;
}

}  // namespace

void Object::key(std::string_view name) {
  body_ += (body_.empty() ? "\"" : ",\"") + escaped(name) + "\":";
}

Object& Object::text(std::string_view name, std::string_view value) {
  key(name);
  body_ += "\"" + escaped(value) + "\"";
  return *this;
}

Object& Object::number(std::string_view name, double value) {
  key(name);
  body_ += shown(value);
  return *this;
}

Object& Object::numbers(std::string_view name, const std::vector<double>& values) {
  key(name);
  std::string list;
  for (const double value : values) { list += (list.empty() ? "" : ",") + shown(value); }
  body_ += "[" + list + "]";
  return *this;
}

Journal::Journal(fs::path file, const std::string& header)
    : file_(std::move(file)), part_(file_.string() + ".part") {
  std::vector<std::string> kept;
  for (const fs::path& source : {file_, part_}) {
    if (!fs::exists(source)) { continue; }
    for (const std::string& line : lines_of(source)) {
      if (!line.starts_with(kWork)) { continue; }
      const std::size_t end = line.find('"', kWork.size());
      if (done_.insert(line.substr(kWork.size(), end - kWork.size())).second) {
        kept.push_back(line);
      }
    }
  }
  const fs::path fresh = part_.string() + ".new";
  {
    std::ofstream out(fresh);
    out << header << '\n';
    for (const std::string& line : kept) { out << line << '\n'; }
    if (!out.flush()) { throw std::runtime_error("cannot write " + fresh.string()); }
  }
  fs::rename(fresh, part_);
  out_.open(part_, std::ios::app);
}

void Journal::add(const std::string& work, const std::string& line) {
  out_ << line << std::endl;  // flushed: an interrupted run keeps it
  if (!out_) { throw std::runtime_error("cannot write " + part_.string()); }
  done_.insert(work);
}

void Journal::finish() {
  out_.close();
  fs::rename(part_, file_);
}

}  // namespace tsim::calibrate
