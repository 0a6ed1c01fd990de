#include "sim/input/truth/row_documents.hpp"

#include "sim/input/suggest.hpp"

namespace tsim::sim {
namespace {

constexpr std::size_t kMostChoices = 64;

struct Draft {
  std::string label;
  Json document;
};

bool is_object(const Place& place) {
  if (place.value->is_object()) { return true; }
  place.fail(place.found(), "an object such as {\"/strategy/tensor\": 4}");
  return false;
}

void set_all(Json& document, const Json& changes, const Place& place) {
  for (const auto& [pointer, value] : changes.items()) {
    set_at(document, pointer, value, *place.source->problems, place.path);
  }
}

void apply_groups(const RowTemplates& templates, const Place& like, Json& document) {
  if (!like.present()) { return; }
  std::vector<Place> names;
  if (like.value->is_array()) {
    names = read_entries(like);
  } else {
    names.push_back(like);
  }
  for (const Place& place : names) {
    const std::string name = read_text(place);
    const auto found = templates.groups.find(name);
    if (found != templates.groups.end()) {
      set_all(document, found->second, place);
      continue;
    }
    std::vector<std::string_view> known;
    known.reserve(templates.groups.size());
    for (const auto& [group, changes] : templates.groups) { known.push_back(group); }
    place.fail(in_quotes(name),
               known.empty() ? "no group: there are none" : "one of " + join(known),
               did_you_mean(name, known));
  }
}

/// "chunks 2"
std::string label_of(const std::string& pointer, const Json& value) {
  return pointer.substr(pointer.rfind('/') + 1) + " " +
         (value.is_string() ? value.get<std::string>() : value.dump());
}

/// Every draft with every value of `values` at `pointer`.
std::vector<Draft> crossed(const std::vector<Draft>& drafts, const std::string& pointer,
                           const Json& values, const Place& place) {
  std::vector<Draft> result;
  result.reserve(drafts.size() * values.size());
  for (const Draft& draft : drafts) {
    for (const Json& value : values) {
      Draft next = draft;
      set_at(next.document, pointer, value, *place.source->problems, place.path);
      next.label += (next.label.empty() ? "" : ", ") + label_of(pointer, value);
      result.push_back(std::move(next));
    }
  }
  return result;
}

std::vector<Draft> opened(Draft draft, const Place& open) {
  std::vector<Draft> drafts{std::move(draft)};
  if (!open.present() || !is_object(open)) { return drafts; }
  for (const auto& [pointer, values] : open.value->items()) {
    if (!values.is_array() || values.empty()) {
      open.fail("no values of " + in_quotes(pointer), "a list of them");
      return drafts;
    }
    if (drafts.size() * values.size() > kMostChoices) {
      open.fail("more than " + std::to_string(kMostChoices) + " combinations", "fewer");
      return drafts;
    }
    drafts = crossed(drafts, pointer, values, open);
  }
  return drafts;
}

}  // namespace

RowTemplates read_templates(const Place& base, const Place& groups) {
  RowTemplates templates;
  if (base.present() && is_object(base)) { templates.base = *base.value; }
  if (!groups.present() || !is_object(groups)) { return templates; }
  for (const auto& [name, changes] : groups.value->items()) {
    const Place place{&changes, groups.path + "/" + name, groups.source};
    if (is_object(place)) { templates.groups.emplace(name, changes); }
  }
  return templates;
}

std::vector<validate::Choice> row_choices(const RowTemplates& templates, const Place& like,
                                          const Place& set, const Place& open) {
  Draft draft{{}, templates.base};
  apply_groups(templates, like, draft.document);
  if (set.present() && is_object(set)) { set_all(draft.document, *set.value, set); }
  std::vector<validate::Choice> choices;
  const std::vector<Draft> drafts = opened(std::move(draft), open);
  choices.reserve(drafts.size());
  for (const Draft& one : drafts) { choices.push_back({one.label, one.document.dump()}); }
  return choices;
}

}  // namespace tsim::sim
