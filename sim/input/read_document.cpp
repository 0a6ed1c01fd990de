#include "sim/input/read_document.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <vector>

#include "sim/input/suggest.hpp"

namespace tsim::sim {
namespace {

constexpr std::uintmax_t kLargestFile = 64U << 20U;  // a configuration, not a data set
constexpr std::size_t kDeepest = 64;                 // levels of nesting

/// Follows the parser's events and notes keys that an object has twice.
class KeyWatcher {
 public:
  explicit KeyWatcher(std::vector<std::string>& repeated) : repeated_(repeated) {}

  bool operator()(Json::parse_event_t event, const Json& parsed) {
    using Event = Json::parse_event_t;
    switch (event) {
      case Event::object_start:
      case Event::array_start:
        frames_.push_back({event == Event::object_start, {}, {}, 0});
        if (frames_.size() > kDeepest) { throw TooDeep{}; }
        break;
      case Event::key:
        frames_.back().key = parsed.get<std::string>();
        if (!frames_.back().keys.insert(frames_.back().key).second) { repeated_.push_back(path()); }
        break;
      case Event::object_end:
      case Event::array_end:
        frames_.pop_back();
        count();
        break;
      case Event::value: count(); break;
    }
    return true;
  }

  struct TooDeep {};

 private:
  struct Frame {
    bool object = false;
    std::set<std::string> keys;
    std::string key;
    std::size_t index = 0;
  };

  void count() {
    if (!frames_.empty() && !frames_.back().object) { ++frames_.back().index; }
  }

  std::string path() const {
    Json::json_pointer pointer;
    for (const Frame& frame : frames_) {
      if (frame.object) {
        pointer.push_back(frame.key);
      } else {
        pointer.push_back(std::to_string(frame.index));
      }
    }
    return pointer.to_string();
  }

  std::vector<std::string>& repeated_;
  std::vector<Frame> frames_;
};

struct TextPlace {
  std::size_t line = 1, column = 1;
  std::string excerpt;  // the line, or the part of it around the column
};

TextPlace place_of(std::string_view text, std::size_t byte) {
  byte = std::min(byte, text.size());
  const std::size_t start = text.substr(0, byte).rfind('\n') + 1;  // npos + 1 == 0
  TextPlace place;
  place.line += static_cast<std::size_t>(
      std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(start), '\n'));
  place.column = byte - start + 1;
  std::string_view line = text.substr(start, text.find_first_of("\r\n", start) - start);
  constexpr std::size_t kBefore = 60;
  constexpr std::size_t kShown = 100;
  if (place.column > kBefore && line.size() > kShown) {
    line.remove_prefix(std::min(line.size(), place.column - kBefore));
  }
  for (const char c : line.substr(0, kShown)) {
    const auto value = static_cast<unsigned char>(c);
    place.excerpt += value < 0x20 || value >= 0x7f ? ' ' : c;
  }
  const std::size_t first = place.excerpt.find_first_not_of(' ');
  place.excerpt.erase(0, std::min(first, place.excerpt.size()));
  return place;
}

/// The parser's reason without its preamble and without what it would have liked.
std::string reason(std::string_view what) {
  const std::size_t dash = what.find(" - ");
  std::string_view text = dash == std::string_view::npos ? what : what.substr(dash + 3);
  text = text.substr(0, text.find("; expected"));
  text = text.substr(0, text.find("; last read"));
  return std::string(text);
}

/// One line of JSON; bytes that are no UTF-8 (from a command line) are replaced.
std::string dumped(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// The same, cut to a length that fits a message.
std::string shown(const Json& value) {
  return value.is_string() ? in_quotes(value.get_ref<const std::string&>()) : dumped(value);
}

std::string syntax_hint(std::string_view text, std::size_t byte, const std::string& found) {
  if (found.find("end of input") != std::string::npos) { return "a bracket is not closed"; }
  const std::string_view before = text.substr(0, std::min(byte > 0 ? byte - 1 : 0, text.size()));
  const std::size_t last = before.find_last_not_of(" \t\r\n");
  const char previous = last == std::string_view::npos ? '\0' : before[last];
  if (found == "unexpected '}'" || found == "unexpected ']'") {
    return previous == ',' ? "remove the comma before it" : "";
  }
  if (found == "unexpected string literal") { return "a comma is missing before it"; }
  if (byte >= 2 && byte <= text.size() && (text[byte - 2] == '/' || text[byte - 1] == '/')) {
    return "JSON has no comments";
  }
  return {};
}

InputError syntax_error(std::string_view text, std::size_t byte, std::string found) {
  const TextPlace place = place_of(text, byte > 0 ? byte - 1 : 0);
  std::string hint = syntax_hint(text, byte, found);
  if (!hint.empty()) { found += "; hint: " + hint; }
  return {.path = std::to_string(place.line) + ":" + std::to_string(place.column),
          .found = found + "\n      " + place.excerpt};
}

/// The keys of a JSON pointer, outermost first; nothing when the text is none.
std::optional<std::vector<std::string>> keys_of(const std::string& pointer) {
  std::vector<std::string> keys;
  try {
    Json::json_pointer rest(pointer);
    for (; !rest.empty(); rest.pop_back()) { keys.insert(keys.begin(), rest.back()); }
  } catch (const Json::parse_error&) { return std::nullopt; }
  return keys;
}

/// The entry of `list` whose index `key` is; nullptr when there is none.
Json* entry_of(Json& list, const std::string& key) {
  const bool number =
      !key.empty() && key.size() < 7 && key.find_first_not_of("0123456789") == std::string::npos;
  const std::size_t index = number ? std::stoul(key) : list.size();
  return index < list.size() ? &list[index] : nullptr;
}

/// What `key` leads to from `at`, made when an object lacks it; nullptr when it leads nowhere.
Json* child_of(Json& at, const std::string& key) {
  if (at.is_null()) { at = Json::object(); }
  if (at.is_array()) { return entry_of(at, key); }
  return at.is_object() ? &at[key] : nullptr;
}

/// Why `key` leads nowhere from `at`, which is at `path`.
InputError no_child(const Json& at, const std::string& key, const std::string& path,
                    const std::string& pointer) {
  if (at.is_array()) {
    return {.found = in_quotes(pointer),
            .expected = path + " has " + std::to_string(at.size()) + " entries"};
  }
  const std::string hint =
      "set " + path + R"( to {"base": )" + dumped(at) + R"(, ")" + key + R"(": ...})";
  return {.found = in_quotes(pointer) + ", but " + path + " is " + shown(at),
          .expected = "an object to set a key in",
          .hint = at.is_string() ? hint : ""};
}

}  // namespace

std::optional<std::string> file_text(const std::filesystem::path& path, std::string& why) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) {
    why = "no such file";
    return std::nullopt;
  }
  if (std::filesystem::is_directory(status)) {
    why = "is a folder, not a file";
    return std::nullopt;
  }
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error || !std::filesystem::is_regular_file(status) || size > kLargestFile) {
    why = error || !std::filesystem::is_regular_file(status) ? "is not a regular file"
                                                             : "is larger than 64 MiB";
    return std::nullopt;
  }
  std::ifstream in(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (!in.good() && !in.eof()) {
    why = "cannot be read";
    return std::nullopt;
  }
  return text;
}

std::optional<Json> parse_json(std::string_view text, const std::string& file, Problems& problems) {
  std::vector<std::string> repeated;
  KeyWatcher watcher(repeated);
  const auto fail = [&](InputError error) {
    error.file = file;
    problems.add(std::move(error));
  };
  try {
    Json document = Json::parse(
        text, [&](int, Json::parse_event_t event, Json& parsed) { return watcher(event, parsed); });
    for (const std::string& path : repeated) {
      fail({.path = path, .found = "key given twice", .hint = "keep one of them"});
    }
    if (repeated.empty()) { return document; }
  } catch (const Json::parse_error& e) {
    fail(syntax_error(text, e.byte, reason(e.what())));
  } catch (const Json::out_of_range& e) {  // 1e999
    fail({.path = {}, .found = "a number that is too large: " + reason(e.what())});
  } catch (const KeyWatcher::TooDeep&) {
    fail({.path = {}, .found = "nested deeper than " + std::to_string(kDeepest) + " levels"});
  }
  return std::nullopt;
}

std::optional<Json> read_json_file(const std::filesystem::path& path, Problems& problems) {
  std::string why;
  const std::optional<std::string> text = file_text(path, why);
  if (!text) {
    problems.add({.path = {}, .found = why, .file = path.string()});
    return std::nullopt;
  }
  return parse_json(*text, path.string(), problems);
}

Json with_changes(Json base, const Json& changes) {
  for (const auto& [key, value] : changes.items()) {
    Json& at = base[key];
    if (at.is_object() && value.is_object()) {
      at.update(value);
    } else {
      at = value;
    }
  }
  return base;
}

void set_at(Json& document, const std::string& pointer, const Json& value, Problems& problems,
            const std::string& where) {
  const std::optional<std::vector<std::string>> keys = keys_of(pointer);
  if (!keys) {
    problems.add({.path = where,
                  .found = in_quotes(pointer),
                  .expected = R"(a JSON pointer such as "/strategy/tensor")"});
    return;
  }
  Json* at = &document;
  std::string path;
  for (const std::string& key : *keys) {
    Json* const child = child_of(*at, key);
    if (child == nullptr) {
      InputError error = no_child(*at, key, path, pointer);
      error.path = where;
      problems.add(std::move(error));
      return;
    }
    at = child;
    path += "/" + key;
  }
  *at = value;
}

void apply_override(Json& document, std::string_view assignment, Problems& problems) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos || !assignment.starts_with('/')) {
    problems.add({.path = "--set",
                  .found = in_quotes(assignment),
                  .expected = "/json/pointer=value, such as /strategy/tensor=4"});
    return;
  }
  const std::string_view text = assignment.substr(equals + 1);
  Json value = Json::parse(text, nullptr, false);
  if (value.is_discarded()) { value = std::string(text); }
  set_at(document, std::string(assignment.substr(0, equals)), value, problems, "--set");
}

}  // namespace tsim::sim
