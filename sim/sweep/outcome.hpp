// What a worker answers: answers and counts as bytes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/sweep/search.hpp"

namespace tsim::sim {

/// What one part of a search found.
struct Outcome {
  Counts counts;
  std::vector<Answer> best;
  std::vector<Answer> all;  // every estimated one, where all are kept
};

/// Bytes for a process of the same program on a machine of the same kind.
std::string packed(const Outcome& outcome);
/// Throws std::runtime_error when `bytes` is cut short.
Outcome unpacked_outcome(std::string_view bytes);

/// A part of a search: points [first, last), or those listed; or an answer to simulate.
struct Request {
  std::uint64_t first = 0, last = 0;
  std::vector<std::uint64_t> points;
  std::vector<double> limits;  // goals of what is best so far; empty: nothing is passed over
  bool keep_all = false;
  bool simulate = false;  // the point `first` with `choice`
  Choice choice;
};
std::string packed(const Request& request);
Request unpacked_request(std::string_view bytes);

/// An answer in the event tier.
struct Simulated {
  double step = 0;
  std::int64_t memory = 0;
  bool fits = false;
  std::string failure;  // why there is none
};
std::string packed(const Simulated& simulated);
Simulated unpacked_simulated(std::string_view bytes);

}  // namespace tsim::sim
