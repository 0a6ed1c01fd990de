// XML as a tree of elements that know their lines.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/input/input_error.hpp"

namespace tsim::sim {

struct XmlElement {
  std::string name;
  std::vector<std::pair<std::string, std::string>> attributes;
  std::vector<XmlElement> children;
  std::string place;  // "line:column" of its start

  /// An attribute's text; nullptr when there is none.
  const std::string* find(std::string_view attribute) const;
  /// The same; empty when there is none.
  std::string_view text(std::string_view attribute) const;
};

/// The root element of an XML text. A syntax error is a problem at line:column. Comments and
/// processing instructions are left out; nesting deeper than 64 levels is refused.
std::optional<XmlElement> parse_xml(std::string_view text, Problems& problems);

/// Whether a text begins as XML does.
bool looks_like_xml(std::string_view text);

/// Attributes of one element that are read as values; what is wrong is a problem at its place.
class XmlAttributes {
 public:
  XmlAttributes(const XmlElement& element, Problems& problems)
      : element_(element), problems_(problems) {}
  /// A whole number; `fallback` when the attribute is missing or empty, a problem without one.
  int integer(std::string_view attribute, std::optional<int> fallback = {}) const;
  /// A text that must be there.
  std::string required(std::string_view attribute) const;
  void fail(std::string_view attribute, const std::string& found, const std::string& expected,
            const std::string& hint = {}) const;

 private:
  const XmlElement& element_;
  Problems& problems_;
};

}  // namespace tsim::sim
