#include "strategies/token_slices.hpp"

#include <algorithm>
#include <cassert>
#include <limits>

namespace tsim::strategies {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// Times of slices [from, to) in units.
class Times {
 public:
  Times(const SliceProblem& problem, const SliceTime& time)
      : units_(static_cast<std::size_t>(problem.sequence / problem.unit)) {
    for (std::size_t to = 1; to <= units_; ++to) {
      for (std::size_t from = 0; from < to; ++from) {
        values_.push_back(time(static_cast<std::int64_t>(to - from) * problem.unit,
                               static_cast<std::int64_t>(from) * problem.unit));
      }
    }
  }
  std::size_t units() const { return units_; }
  double of(std::size_t from, std::size_t to) const { return values_[to * (to - 1) / 2 + from]; }
  std::vector<double> sorted() const {
    std::vector<double> all = values_;
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }

 private:
  std::size_t units_;
  std::vector<double> values_;
};

struct Cut {
  double sum = kNever;
  std::vector<std::size_t> from;  // by end in units: where its last slice starts
};

/// The least sum of slices none of which takes longer than `most`.
Cut least_sum(const Times& times, double most) {
  std::vector<double> best(times.units() + 1, kNever);
  Cut cut{.sum = kNever, .from = std::vector<std::size_t>(best.size(), 0)};
  best[0] = 0;
  for (std::size_t to = 1; to <= times.units(); ++to) {
    for (std::size_t from = 0; from < to; ++from) {
      const double slice = times.of(from, to);
      if (slice > most || best[from] + slice >= best[to]) { continue; }
      best[to] = best[from] + slice;
      cut.from[to] = from;
    }
  }
  cut.sum = best.back();
  return cut;
}

}  // namespace

std::vector<std::int64_t> balanced_slices(const SliceProblem& problem, const SliceTime& time) {
  assert(problem.unit >= 1 && problem.sequence % problem.unit == 0);
  const Times times(problem, time);
  double least = kNever;
  Cut best;
  for (const double most : times.sorted()) {
    const double ramp = (problem.stages - 1) * most;
    if (ramp >= least) { break; }  // longer ones only add to it
    Cut cut = least_sum(times, most);
    const double all = problem.samples * cut.sum + ramp;
    if (all >= least) { continue; }
    least = all;
    best = std::move(cut);
  }
  std::vector<std::int64_t> lengths;
  for (std::size_t to = times.units(); to > 0; to = best.from[to]) {
    lengths.push_back(static_cast<std::int64_t>(to - best.from[to]) * problem.unit);
  }
  std::reverse(lengths.begin(), lengths.end());
  return lengths;
}

double slices_time(const std::vector<std::int64_t>& lengths, int stages, const SliceTime& time) {
  double sum = 0;
  double longest = 0;
  std::int64_t context = 0;
  for (const std::int64_t length : lengths) {
    const double slice = time(length, context);
    sum += slice;
    longest = std::max(longest, slice);
    context += length;
  }
  return sum + (stages - 1) * longest;
}

std::vector<std::int64_t> even_slices(std::int64_t sequence, std::int64_t unit, int slices) {
  const std::int64_t units = sequence / unit;
  std::vector<std::int64_t> lengths;
  lengths.reserve(static_cast<std::size_t>(slices));
  for (std::int64_t i = 0; i < slices; ++i) {
    lengths.push_back((units / slices + (i < units % slices ? 1 : 0)) * unit);
  }
  return lengths;
}

}  // namespace tsim::strategies
