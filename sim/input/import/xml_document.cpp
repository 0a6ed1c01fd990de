#include "sim/input/import/xml_document.hpp"

#include <algorithm>
#include <charconv>

#include <pugixml.hpp>

#include "sim/input/suggest.hpp"

namespace tsim::sim {
namespace {

constexpr int kDeepest = 64;

/// Finds lines and columns of offsets in a text.
class Places {
 public:
  explicit Places(std::string_view text) {
    starts_.push_back(0);
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\n') { starts_.push_back(i + 1); }
    }
  }
  std::string at(std::ptrdiff_t offset) const {
    const auto byte = static_cast<std::size_t>(std::max<std::ptrdiff_t>(offset, 0));
    const auto next = std::ranges::upper_bound(starts_, byte);
    const auto line = next - starts_.begin();
    return std::to_string(line) + ":" + std::to_string(byte - *(next - 1) + 1);
  }

 private:
  std::vector<std::size_t> starts_;
};

struct TooDeep {};

XmlElement element_of(const pugi::xml_node& node, const Places& places, int depth) {
  if (depth > kDeepest) { throw TooDeep{}; }
  XmlElement element{node.name(), {}, {}, places.at(node.offset_debug() - 1)};
  for (const pugi::xml_attribute& attribute : node.attributes()) {
    element.attributes.emplace_back(attribute.name(), attribute.value());
  }
  for (const pugi::xml_node& child : node.children()) {
    if (child.type() == pugi::node_element) {
      element.children.push_back(element_of(child, places, depth + 1));
    }
  }
  return element;
}

}  // namespace

const std::string* XmlElement::find(std::string_view attribute) const {
  const auto found =
      std::ranges::find(attributes, attribute, &std::pair<std::string, std::string>::first);
  return found == attributes.end() ? nullptr : &found->second;
}

std::string_view XmlElement::text(std::string_view attribute) const {
  const std::string* found = find(attribute);
  return found == nullptr ? std::string_view{} : std::string_view{*found};
}

std::optional<XmlElement> parse_xml(std::string_view text, Problems& problems) {
  const Places places(text);
  pugi::xml_document document;
  const pugi::xml_parse_result result =
      document.load_buffer(text.data(), text.size(), pugi::parse_default, pugi::encoding_utf8);
  if (!result) {
    problems.add({.path = places.at(result.offset),
                  .found = "no XML: " + std::string(result.description()),
                  .hint = "the element begins or ends here"});
    return std::nullopt;
  }
  const pugi::xml_node root = document.document_element();
  if (!root) {
    problems.add({.found = "XML without an element"});
    return std::nullopt;
  }
  try {
    return element_of(root, places, 1);
  } catch (const TooDeep&) {
    problems.add({.found = "nested deeper than " + std::to_string(kDeepest) + " levels"});
    return std::nullopt;
  }
}

bool looks_like_xml(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) { text.remove_prefix(3); }
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '<';
}

int XmlAttributes::integer(std::string_view attribute, std::optional<int> fallback) const {
  const std::string_view text = element_.text(attribute);
  if (text.empty() && fallback) { return *fallback; }
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc{} && end == text.data() + text.size()) { return value; }
  fail(attribute, text.empty() ? "nothing" : in_quotes(text), "a whole number");
  return fallback.value_or(0);
}

std::string XmlAttributes::required(std::string_view attribute) const {
  const std::string_view text = element_.text(attribute);
  if (text.empty()) { fail(attribute, "nothing", "a text"); }
  return std::string(text);
}

void XmlAttributes::fail(std::string_view attribute, const std::string& found,
                         const std::string& expected, const std::string& hint) const {
  const std::string where = attribute.empty() ? "" : " " + std::string(attribute);
  problems_.add({.path = element_.place + ": <" + element_.name + ">" + where,
                 .found = found,
                 .expected = expected,
                 .hint = hint});
}

}  // namespace tsim::sim
