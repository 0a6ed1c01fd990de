// How much each figure of the hardware matters for one scenario.
#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "sim/input/read_document.hpp"

namespace tsim::sim {

inline constexpr std::array kTornadoFactors{0.5, 0.9, 1.1, 1.5};

struct TornadoRow {
  std::string figure;                                  // "bandwidth of nvlink"
  std::string value;                                   // as it is, with its unit
  std::array<double, kTornadoFactors.size()> steps{};  // s, by events; no number: it fails
};

struct Tornado {
  double step = 0;               // s, as it is
  std::vector<TornadoRow> rows;  // what moves the step most first
};

/// Every figure of the scenario's devices and links changed by itself, so many at once. Throws
/// InputErrors, and std::runtime_error when the scenario itself fails. Kernels that were measured
/// stay as they are.
Tornado tornado_of(const Json& scenario, const std::filesystem::path& file, int jobs);

}  // namespace tsim::sim
