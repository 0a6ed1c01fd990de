// The points of a search, numbered: mixed radix over its axes, the first axis the slowest.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/sweep/estimator.hpp"
#include "sim/sweep/spec.hpp"

namespace tsim::sim {

/// How points are numbered. Points of a cell have the same costs of blocks.
class Space {
 public:
  /// Throws InputErrors when there are more points than 2^62.
  explicit Space(const SweepSpec& spec);
  std::uint64_t size() const { return size_; }
  std::uint64_t cell_size() const { return cell_size_; }
  std::uint64_t cells() const { return cell_size_ == 0 ? 0 : size_ / cell_size_; }
  /// Value of each axis at a point; 0 for formulas.
  std::vector<std::size_t> digits(std::uint64_t point) const;
  /// Points with the same values of all axes that are no fields.
  std::uint64_t setting_size() const { return setting_size_; }

 private:
  std::vector<std::size_t> counts_;
  std::uint64_t size_ = 1, cell_size_ = 1, setting_size_ = 1;
};

/// The scenario with the values of the axes that are no fields, ready for estimates. Empty with the
/// reason when it cannot be read with them.
struct Setting {
  std::unique_ptr<Estimator> estimator;
  std::vector<double> slots;  // of conditions; fields are filled in for each choice
  std::string refusal;        // why there is none
};

/// Reads the scenario of a point. What is wrong with every scenario (a key that there is not) is
/// thrown as InputErrors, what is wrong with these values is a refusal.
Setting read_setting(const SweepSpec& spec, const std::vector<std::size_t>& digits);

/// The document of a point, as `tsim run` reads it.
Json document_of(const SweepSpec& spec, const std::vector<std::size_t>& digits,
                 const Choice& choice);

/// What is best at a point, each so that less is better.
double goal_value(Goal goal, const SweepSpec& spec, const Scenario& scenario, double step,
                  double memory);
/// The same as people read it.
double shown(Goal goal, double value);

}  // namespace tsim::sim
