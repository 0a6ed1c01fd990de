// Whatever the text, reading it gives a scenario or InputErrors: no crash, no assert, no hang.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "sim/input/read_scenario.hpp"

namespace {

/// The first line may hold an override behind `//`, so that those are tried as well.
std::vector<std::string> overrides_of(std::string_view& text) {
  if (!text.starts_with("//")) { return {}; }
  const std::size_t end = text.find('\n');
  const std::string assignment(text.substr(2, end == text.npos ? end : end - 2));
  text.remove_prefix(end == text.npos ? text.size() : end + 1);
  return {assignment};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::vector<std::string> overrides = overrides_of(text);
  const std::string file = std::string(TSIM_SOURCE_DIR) + "/tests/sim/input/data/s.json";
  try {
    const tsim::sim::ScenarioFile scenario = tsim::sim::read_scenario_text(text, file, overrides);
    if (tsim::sim::micro_batches(scenario.base) < 1) { std::abort(); }
  } catch (const tsim::sim::InputErrors& errors) {
    if (errors.problems().empty()) { std::abort(); }
  }
  return 0;
}
