// From text to a JSON document: syntax, keys given twice, and changes given on the command line.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "sim/input/input_error.hpp"

namespace tsim::sim {

using Json = nlohmann::json;

/// The text of a regular file, or nothing and in `why` the reason.
std::optional<std::string> file_text(const std::filesystem::path& path, std::string& why);

/// The document that `text` holds. A syntax error is told as line:column with the line itself, a
/// key that is given twice with its path; both give no document. `file` names another file than
/// the one asked for, else it is empty.
std::optional<Json> parse_json(std::string_view text, const std::string& file, Problems& problems);

/// Reads and parses one more file; what is wrong carries its name.
std::optional<Json> read_json_file(const std::filesystem::path& path, Problems& problems);

/// `base` with the keys of `changes` set over it; where both have an object, key by key. Both are
/// objects.
Json with_changes(Json base, const Json& changes);

/// Sets what `pointer` (a JSON Pointer, RFC 6901) names in `document` to `value`; objects on the
/// way are made when missing. Problems are told at `where`.
void set_at(Json& document, const std::string& pointer, const Json& value, Problems& problems,
            const std::string& where);

/// Applies `/json/pointer=value`; a value that is no JSON is taken as text.
void apply_override(Json& document, std::string_view assignment, Problems& problems);

}  // namespace tsim::sim
