// A spec from a file, from flags, or from both: flags go over the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/sweep/spec.hpp"

namespace tsim::sim {

struct SpecFlags {
  std::string scenario;           // empty: the file's
  std::vector<std::string> vary;  // /json/pointer=VALUES
  std::vector<std::string> where;
  std::vector<std::string> objectives;
  std::vector<std::string> settings;  // /json/pointer=value, of the scenario
  std::string search;                 // empty: the file's
  std::optional<std::int64_t> top, events, samples, seed;
  std::optional<double> price, power, tokens, memory_margin;
  std::string step_time;  // empty: no limit
};

/// `spec`: the file, may be empty. VALUES are "1,2,4", "1:8", "1:9:2" (a step), "1:16*2" (a
/// factor), "rest", "=formula" or JSON. Throws InputErrors.
SweepSpec read_spec(const std::filesystem::path& spec, const SpecFlags& flags);

/// A spec whose scenario is inside, with some of its values set and all usual axes.
SweepSpec read_usual_spec(Json document, const std::vector<std::string>& settings);

/// "precision" of a scenario without one: the first of bf16, fp16 and int16 that the matrix units
/// of all its devices compute in, with gradients in fp32, else fp32. `file` names it in messages.
/// Throws InputErrors.
Json usual_precision(const Json& scenario, const std::filesystem::path& file);

/// Values that a strategy for this scenario may take: every degree, micro-batch, schedule and saver
/// that is usual. For "vary".
Json usual_axes(const Scenario& scenario);

}  // namespace tsim::sim
