// Settings as the readers of scenarios and clusters take them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/cli/options.hpp"

namespace tsim::cli {

/// "/json/pointer=value" of each.
inline std::vector<std::string> setting_texts(std::span<const Setting> settings) {
  std::vector<std::string> texts;
  texts.reserve(settings.size());
  for (const Setting& s : settings) { texts.push_back(s.pointer + "=" + s.value); }
  return texts;
}

}  // namespace tsim::cli
