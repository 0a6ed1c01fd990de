// Goes through points of a space: what is legal, what it takes, what is best.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "sim/sweep/removal.hpp"
#include "sim/sweep/space.hpp"

namespace tsim::sim {

/// A point that breaks no rule, and what the analytic tier says of it.
struct Answer {
  std::uint64_t point = 0;
  Choice choice;
  Estimate estimate;
  std::vector<double> goals;  // by the spec's, less is better
};

/// What a search has seen.
struct Counts {
  std::uint64_t points = 0;     // gone through
  std::uint64_t passed = 0;     // of these, whose block alone takes too long to be best
  std::uint64_t legal = 0;      // that break no rule
  std::uint64_t estimated = 0;  // of these: the others cannot be best
  std::uint64_t planned = 0;    // of the estimated, planned one by one
  std::uint64_t fitting = 0;    // of the estimated, fit in memory and limits
  std::map<std::string, std::uint64_t> removed;  // by reason
  void add(const Counts& more);
};

/// The best answers so far. With several goals those that none is better than in all, else the best
/// `top`, ties by number.
class Best {
 public:
  /// `front`: all that nothing else is better than in everything. `apart`: of those with the same
  /// degrees only the best one.
  Best(std::size_t top, bool front, bool apart = false) : top_(top), front_(front), apart_(apart) {}
  explicit Best(const SweepSpec& spec)
      : Best(static_cast<std::size_t>(spec.top), spec.goals.size() > 1, spec.apart) {}
  void add(Answer answer);
  /// Others have found this: what is worse is not among the best.
  void bound(double first_goal) { bound_ = std::min(bound_, first_goal); }
  /// What the first goal has to be below to be among them.
  double limit() const;
  const std::vector<Answer>& answers() const { return answers_; }  // best first

 private:
  std::size_t top_;
  bool front_, apart_;
  double bound_ = std::numeric_limits<double>::infinity();
  std::vector<Answer> answers_;
};

/// Looks at points one after the other. Not thread-safe.
class Searcher {
 public:
  explicit Searcher(const SweepSpec& spec);

  /// All points [first, last), the best ones into `best`. `bounded`: those that cannot be among
  /// them are passed over. `each`, if any, is called with every estimated answer.
  struct Range {
    std::uint64_t first = 0, last = 0;
    bool bounded = false;
  };
  void range(const Range& range, Best& best, Counts& counts,
             const std::function<void(const Answer&)>& each = {});
  /// The same without estimates: what is legal, and what removes the rest.
  void count(const Range& range, Counts& counts);
  /// Some points, in ascending order.
  void points(std::span<const std::uint64_t> points, Best& best, Counts& counts,
              const std::function<void(const Answer&)>& each = {});

  const Space& space() const { return space_; }
  /// The setting of a point; the estimator of the last one is kept.
  const Setting& setting(std::uint64_t point);

 private:
  struct Look;
  /// Why a point that no formula or condition removes is against the rules.
  enum class Rule : std::uint8_t {
    most_devices,
    ranks,
    heads,
    ffn,
    batch,
    too_many_parts,
    uneven_parts,
    chunks,
    memory,
    step_time
  };
  /// Points one after the other that are alike but for their fields.
  struct Span {
    std::uint64_t point = 0, points = 0;
  };
  std::uint64_t allowed(Span span, Choice& choice, Counts& counts);
  std::uint64_t look_at(Span span, Look& look);
  void judge(Answer answer, Look& look);
  std::uint64_t settle(Span span, Choice& choice);
  bool legal(const Choice& choice);
  bool fails(bool broken, Rule rule);
  void refuse(std::uint64_t points, Counts& counts);
  double step_limit(const Best& best) const;
  bool passes_over(std::uint64_t point, const Best& best);

  const SweepSpec& spec_;
  Space space_;
  std::uint64_t setting_number_ = std::numeric_limits<std::uint64_t>::max();
  Setting setting_;
  std::vector<double> slots_;
  Reaches reaches_;
  Removals removals_;
  std::int64_t devices_ = 0;
  Choice base_;                // of the setting, for what does not vary
  bool own_chunks_ = true;     // chunks follow the schedule
  bool bounded_cells_ = true;  // a cell's least step bounds its points
};

/// Points of a random search, ascending and each once.
std::vector<std::uint64_t> random_points(std::uint64_t size, std::int64_t samples,
                                         std::int64_t seed);

}  // namespace tsim::sim
