// The scenarios that a row of a source may stand for.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/input/json_reader.hpp"
#include "sim/validate/truth.hpp"

namespace tsim::sim {

/// What rows share: the document that each changes, and named groups of changes.
struct RowTemplates {
  Json base = Json::object();
  std::map<std::string, Json> groups;  // each {"/json/pointer": value}
};
RowTemplates read_templates(const Place& base, const Place& groups);

/// The documents of a row: the shared one with the changes of the groups named in `like` (a text or
/// a list), then those of `set`, and of each combination of the values in `open`
/// ({"/json/pointer": [value, ...]}). One, unlabelled, when nothing is open.
std::vector<validate::Choice> row_choices(const RowTemplates& templates, const Place& like,
                                          const Place& set, const Place& open);

}  // namespace tsim::sim
