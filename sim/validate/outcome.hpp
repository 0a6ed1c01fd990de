// What a row's scenario takes as it is simulated.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "sim/input/truth/read_truth.hpp"
#include "sim/report/report.hpp"
#include "sim/validate/truth.hpp"

namespace tsim::validate {

/// Where a rank's step goes, mean over the ranks; the parts add up to the step.
enum class Part : std::uint8_t {
  products,      // matrix products and fused attention
  memory_bound,  // other kernels
  optimizer,
  host,    // the device waits for the host's launches, or rounding of the kernels' sum
  tensor,  // exposed communication by group
  data,
  pipeline,
  context,
  other,  // exposed copies, experts' exchanges
  bubble  // waiting for other ranks
};
inline constexpr std::size_t kParts = 10;
std::string_view name_of(Part part);
using Parts = std::array<double, kParts>;  // shares of the step

/// How a choice is answered.
enum class Tier : std::uint8_t { events, closed_form };

/// One choice's answer. Plain data: it crosses processes.
struct Outcome {
  bool ran = false;
  bool by_formula = false;  // `step` is the closed form's; `parts` is empty
  bool fits = true;
  double step = 0;                             // seconds
  double closed_form = 0;                      // seconds; 0: the schedule has no formula
  double measured_low = 0, measured_high = 0;  // the row's figure as a step, with its resolution
  double memory = 0;                           // bytes, as the row's source reads it; 0: not read
  Parts parts{};
  std::array<char, 320> why{};  // it did not run: a C string
};

/// Answers one choice of `row`; by events what has no closed form. Never throws: what goes wrong is
/// in the outcome.
Outcome outcome_of(const Row& row, const Choice& choice, const Source& source,
                   const sim::StandIns& stand_ins, Tier tier = Tier::events);

/// What figures of speed are divided by.
struct Counted {
  int devices = 1;
  Flops model_flops{};  // of a step of all devices, as papers count
};

/// The step's time that a figure of `measured` means for `scenario`, in seconds.
/// recomputed_flops counts 96 B s l h^2 (1 + s/6h + V/16lh) [arXiv:2104.04473, sec. 3.2].
double step_of(const Measured& measured, double value, const sim::Scenario& scenario,
               const Counted& counted);

}  // namespace tsim::validate
