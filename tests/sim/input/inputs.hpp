// A small scenario that is right, for tests that make one thing of it wrong.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "sim/input/read_scenario.hpp"

namespace tsim::sim {

/// A decoder of 30 layers, 28 heads on 4 x 8 devices: t = 4, p = 4, d = 2; m = 16.
inline const std::string kRightScenario = R"({
  "model": {"family": "decoder", "layers": 30, "hidden": 3584, "heads": 28, "vocab": 50257,
            "sequence": 2048},
  "workload": {"global_batch": 64, "micro_batch": 2},
  "cluster": {"nodes": 4, "devices_per_node": 8, "device": "plain",
              "node": {"kind": "nvswitch", "bandwidth": "300 GB/s", "latency": "1 us"},
              "network": {"bandwidth": "400 Gb/s", "latency": "5 us"}},
  "strategy": {"tensor": 4, "pipeline": 4, "data": 2}
})";

inline const std::string kDataFile = std::string(TSIM_SOURCE_DIR) + "/tests/sim/input/data/s.json";

/// The right scenario with the overrides applied.
inline ScenarioFile read_with(const std::vector<std::string>& overrides,
                              const std::string& text = kRightScenario) {
  return read_scenario_text(text, kDataFile, overrides);
}

/// The problems of the right scenario with the overrides applied, one text each.
inline std::vector<std::string> problems_with(const std::vector<std::string>& overrides,
                                              const std::string& text = kRightScenario) {
  std::vector<std::string> texts;
  try {
    read_with(overrides, text);
  } catch (const InputErrors& errors) {
    for (const InputError& error : errors.problems()) { texts.push_back(to_text(error)); }
  }
  return texts;
}

using Texts = std::vector<std::string>;

}  // namespace tsim::sim

/// Failing tests show the texts.
template <>
struct doctest::StringMaker<std::vector<std::string>> {
  static String convert(const std::vector<std::string>& texts) {
    std::string all;
    for (const std::string& text : texts) { all += "\n    " + text; }
    return all.c_str();
  }
};
