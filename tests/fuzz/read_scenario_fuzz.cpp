// Whatever the text, reading it gives a scenario or InputErrors: no crash, no assert, no hang.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sim/input/input_error.hpp"
#include "sim/input/read_scenario.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    tsim::sim::read_scenario_text(text, TSIM_SOURCE_DIR "/scenarios/fuzzed.json");
  } catch (const tsim::sim::InputErrors& errors) {
    if (errors.problems().empty()) { std::abort(); }
  }
  return 0;
}
