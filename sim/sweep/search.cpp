#include "sim/sweep/search.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <utility>

#include "sim/input/rules/check_scenario.hpp"
#include "strategies/deal.hpp"

namespace tsim::sim {
namespace {

/// Whether `a` is at least as good in all, and better in one.
bool dominates(const std::vector<double>& a, const std::vector<double>& b) {
  bool better = false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] > b[i]) { return false; }
    better = better || a[i] < b[i];
  }
  return better;
}

bool before(const Answer& a, const Answer& b) {
  return a.goals < b.goals || (a.goals == b.goals && a.point < b.point);
}

std::array<std::int64_t, 4> degrees(const Answer& answer) {
  const Choice& c = answer.choice;
  return {c[Field::tensor], c[Field::pipeline], c[Field::data], c[Field::context]};
}

/// Whether nothing is better in all; what `answer` beats goes.
bool joins_front(const Answer& answer, std::vector<Answer>& answers) {
  const auto keeps_out = [&](const Answer& a) {
    return dominates(a.goals, answer.goals) || a.goals == answer.goals;
  };
  if (std::ranges::any_of(answers, keeps_out)) { return false; }
  std::erase_if(answers, [&](const Answer& a) { return dominates(answer.goals, a.goals); });
  return true;
}

/// Whether none with the same degrees is better; one that is worse goes.
bool replaces_alike(const Answer& answer, std::vector<Answer>& answers) {
  const auto same = std::ranges::find(answers, degrees(answer), degrees);
  if (same == answers.end()) { return true; }
  if (!before(answer, *same)) { return false; }
  answers.erase(same);
  return true;
}

/// Whether it is among the best `top`; the last one goes where there are as many.
bool has_place(const Answer& answer, std::size_t top, std::vector<Answer>& answers) {
  if (answers.size() < top) { return true; }
  if (!before(answer, answers.back())) { return false; }
  answers.pop_back();
  return true;
}

double slot(std::int64_t number) { return static_cast<double>(number); }

/// In the order of Searcher::Rule.
constexpr std::array kRules{"limits: more devices",
                            "tensor*context*pipeline*data is not the devices",
                            "tensor does not divide the attention heads",
                            "tensor does not divide ffn",
                            "micro_batch*data does not divide global_batch",
                            "more stages and chunks than layers",
                            "stages and chunks do not divide the layers",
                            "the schedule has another number of chunks",
                            "does not fit in memory",
                            "limits: step_time"};

}  // namespace

void Counts::add(const Counts& more) {
  points += more.points;
  passed += more.passed;
  legal += more.legal;
  estimated += more.estimated;
  planned += more.planned;
  fitting += more.fitting;
  for (const auto& [reason, count] : more.removed) { removed[reason] += count; }
}

void Best::add(Answer answer) {
  const bool joins =
      front_ ? joins_front(answer, answers_)
             : (!apart_ || replaces_alike(answer, answers_)) && has_place(answer, top_, answers_);
  if (!joins) { return; }
  answers_.insert(std::ranges::upper_bound(answers_, answer, before), std::move(answer));
}

double Best::limit() const {
  if (front_) { return std::numeric_limits<double>::infinity(); }
  return answers_.size() < top_ ? bound_ : std::min(bound_, answers_.back().goals.front());
}

struct Searcher::Look {
  bool bounded;
  Best& best;
  Counts& counts;
  const std::function<void(const Answer&)>& each;
};

Searcher::Searcher(const SweepSpec& spec) : spec_(spec), space_(spec), reaches_(spec) {
  for (const char* rule : kRules) { removals_.reason(rule); }
  for (const Axis& axis : spec_.axes) {
    removals_.reason(axis.formula ? "/vary" + axis.pointer + ": " + axis.formula->text() +
                                        " is no whole number"
                                  : "/vary" + axis.pointer);
  }
  for (const Condition& where : spec_.where) { removals_.reason("where " + where.text()); }
  const auto axis = [&](Field field) {
    return std::ranges::find_if(spec_.axes, [field](const Axis& a) { return a.field == field; });
  };
  own_chunks_ = axis(Field::chunks) == spec_.axes.end();
  const auto batch = axis(Field::global_batch);
  bounded_cells_ = (batch == spec_.axes.end() || (batch->count() == 1 && !batch->formula)) &&
                   std::ranges::none_of(spec_.axes, [](const Axis& a) {
                     return a.formula && *a.field <= kLastBlockField;
                   });
}

const Setting& Searcher::setting(std::uint64_t point) {
  const std::uint64_t number = point / space_.setting_size();
  if (number == setting_number_) { return setting_; }
  setting_ = {};  // its memory first
  setting_ = read_setting(spec_, space_.digits(point));
  setting_number_ = number;
  slots_ = setting_.slots;
  if (setting_.estimator != nullptr) { base_ = choice_of(setting_.estimator->scenario()); }
  devices_ = setting_.estimator == nullptr
                 ? 0
                 : static_cast<std::int64_t>(
                       setting_.estimator->scenario().cluster.topology.devices.size());
  return setting_;
}

/// Points of a setting that cannot be read.
void Searcher::refuse(std::uint64_t points, Counts& counts) {
  removals_.remove(removals_.reason(setting_.refusal), points);
  counts.points += points;
}

/// The choice of the first of some points: 0, or how many of them formulas or conditions remove
/// with it.
std::uint64_t Searcher::settle(Span span, Choice& choice) {
  const std::uint64_t point = span.point;
  std::uint64_t rest = point;
  for (std::size_t a = spec_.axes.size(); a-- > 0;) {
    const Axis& axis = spec_.axes[a];
    const std::uint64_t count = axis.count();
    const auto digit = static_cast<std::size_t>(rest % count);
    rest /= count;
    if (axis.field && !axis.formula) { choice[*axis.field] = axis.numbers[digit]; }
  }
  for (std::size_t f = 0; f < kFields; ++f) { slots_[f] = slot(choice.values[f]); }
  for (std::size_t a = 0; a < spec_.axes.size(); ++a) {
    const Axis& axis = spec_.axes[a];
    if (!axis.formula) { continue; }
    const double value = axis.formula->value(slots_);
    if (!(value >= 1 && value <= 1e9) || value != std::floor(value)) {
      const std::uint64_t points = std::min(span.points, reaches_.of_formula(a, point));
      removals_.remove(kRules.size() + a, points);
      return points;
    }
    choice[*axis.field] = static_cast<std::int64_t>(value);
    slots_[static_cast<std::size_t>(*axis.field)] = value;
  }
  const Choice& c = choice;
  slots_[kFields + static_cast<std::size_t>(Known::micro_batches)] =
      slots_[static_cast<std::size_t>(Field::global_batch)] /
      slot(c[Field::micro_batch] * c[Field::data]);
  slots_[kFields + static_cast<std::size_t>(Known::replicas)] =
      slot(c[Field::data] * c[Field::context]);
  for (std::size_t w = 0; w < spec_.where.size(); ++w) {
    if (spec_.where[w].holds(slots_)) { continue; }
    const std::uint64_t points = std::min(span.points, reaches_.of_condition(w, point));
    removals_.remove(kRules.size() + spec_.axes.size() + w, points);
    return points;
  }
  return 0;
}

bool Searcher::fails(bool broken, Rule rule) {
  if (broken) { removals_.remove(static_cast<std::size_t>(rule)); }
  return broken;
}

/// The rules that most points break, quickly, then all of them.
bool Searcher::legal(const Choice& c) {
  Estimator& estimator = *setting_.estimator;
  const Scenario& s = estimator.scenario();
  const std::int64_t t = c[Field::tensor];
  const bool with_ends = s.strategy.split == strategies::LayerSplit::even_with_ends;
  const std::int64_t layers = layer_count(s.model) + (with_ends ? strategies::kEnds : 0);
  const std::int64_t parts = c[Field::pipeline] * c[Field::chunks];
  const strategies::Schedule& schedule = schedule_of(c);
  const bool once = schedule.placement != strategies::Placement::bidirectional;
  const bool even = s.strategy.split == strategies::LayerSplit::even;
  if (fails(spec_.most_devices > 0 && devices_ > spec_.most_devices, Rule::most_devices) ||
      fails(ranks(c) != devices_, Rule::ranks) || fails(s.model.heads % t != 0, Rule::heads) ||
      fails(s.model.ffn % t != 0, Rule::ffn) ||
      fails(c[Field::global_batch] % (c[Field::micro_batch] * c[Field::data]) != 0, Rule::batch) ||
      fails(parts > layers && once, Rule::too_many_parts) ||
      fails(even && layers % parts != 0 && once, Rule::uneven_parts) ||
      fails(schedule.chunks > 0 && c[Field::chunks] != schedule.chunks, Rule::chunks)) {
    return false;
  }
  Problems problems;
  check_scenario(estimator.with(c), devices_, problems);
  if (problems.empty()) { return true; }
  removals_.remove(removals_.reason("rule of " + problems.errors().front().path));
  return false;
}

/// The step time from which on a point is not among the best: all goals but memory grow with it.
double Searcher::step_limit(const Best& best) const {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  const Goal goal = spec_.goals.front();
  if (goal == Goal::memory) { return kNone; }
  const double one = goal_value(goal, spec_, setting_.estimator->scenario(), 1.0, 0);
  const double limit = is_rate(goal) ? one / best.limit() : best.limit() / one;
  return limit > 0 ? limit * (1 + 1e-12) : kNone;  // equal ones are told apart by their numbers
}

/// The choice of the first of some points where it breaks no rule: 0, or how many are removed.
std::uint64_t Searcher::allowed(Span span, Choice& choice, Counts& counts) {
  choice = base_;
  if (const std::uint64_t removed = settle(span, choice)) { return removed; }
  if (own_chunks_ && schedule_of(choice).chunks > 0) {
    choice[Field::chunks] = schedule_of(choice).chunks;
  }
  if (!legal(choice)) { return 1; }
  ++counts.legal;
  return 0;
}

/// How many of the points are done with.
std::uint64_t Searcher::look_at(Span span, Look& look) {
  Choice choice;
  if (const std::uint64_t removed = allowed(span, choice, look.counts)) { return removed; }
  Estimator& estimator = *setting_.estimator;
  const auto estimate =
      look.bounded ? estimator.estimate(choice, step_limit(look.best)) : estimator.estimate(choice);
  if (!estimate) { return 1; }
  ++look.counts.estimated;
  look.counts.planned += estimate->composed ? 0 : 1;
  judge({span.point, choice, *estimate, {}}, look);
  return 1;
}

void Searcher::judge(Answer answer, Look& look) {
  const Scenario& s = setting_.estimator->scenario();
  Estimate& e = answer.estimate;
  const auto memory = static_cast<double>(e.memory);
  answer.goals.reserve(spec_.goals.size());
  for (const Goal goal : spec_.goals) {
    answer.goals.push_back(goal_value(goal, spec_, s, e.step, memory));
  }
  const double capacity = to_double(s.cluster.devices.front().memory);
  e.fits = e.fits && memory <= capacity * (1 - spec_.memory_margin);
  if (look.each) { look.each(answer); }
  if (!e.fits) {
    fails(true, Rule::memory);
  } else if (spec_.most_step > 0 && e.step > spec_.most_step) {
    fails(true, Rule::step_time);
  } else {
    ++look.counts.fitting;
    look.best.add(std::move(answer));
  }
}

/// Whether no point of the cell of `point` can be among the best.
bool Searcher::passes_over(std::uint64_t point, const Best& best) {
  if (!bounded_cells_ || best.limit() == std::numeric_limits<double>::infinity()) { return false; }
  Choice choice = base_;
  const std::vector<std::size_t> digits = space_.digits(point);
  for (std::size_t a = 0; a < digits.size(); ++a) {
    const Axis& axis = spec_.axes[a];
    if (axis.field && !axis.formula) { choice[*axis.field] = axis.numbers[digits[a]]; }
  }
  const Scenario& s = setting_.estimator->scenario();
  const std::int64_t t = choice[Field::tensor];
  if (s.model.heads % t != 0 || s.model.ffn % t != 0) { return false; }
  choice[Field::pipeline] = 1;
  choice[Field::chunks] = 1;
  choice[Field::data] = 1;
  choice[Field::zero] = 0;
  Problems problems;
  check_scenario(setting_.estimator->with(choice), 0, problems);
  if (!problems.empty()) { return false; }
  return setting_.estimator->least_step(choice, devices_) >= step_limit(best);
}

void Searcher::range(const Range& range, Best& best, Counts& counts,
                     const std::function<void(const Answer&)>& each) {
  Look look{range.bounded, best, counts, each};
  const std::uint64_t size = space_.cell_size();
  for (std::uint64_t point = range.first; point < range.last;) {
    const std::uint64_t end = std::min(range.last, (point / size + 1) * size);
    if (setting(point).estimator == nullptr) {
      refuse(end - point, counts);
    } else if (range.bounded && passes_over(point, best)) {
      counts.points += end - point;
      counts.passed += end - point;
    } else {
      counts.points += end - point;
      while (point < end) { point += look_at({point, end - point}, look); }
    }
    point = end;
  }
  removals_.move_to(counts.removed);
}

void Searcher::count(const Range& range, Counts& counts) {
  const std::uint64_t size = space_.setting_size();
  for (std::uint64_t point = range.first; point < range.last;) {
    const std::uint64_t end = std::min(range.last, (point / size + 1) * size);
    if (setting(point).estimator == nullptr) {
      refuse(end - point, counts);
      point = end;
      continue;
    }
    counts.points += end - point;
    Choice choice;
    while (point < end) {
      point += std::max<std::uint64_t>(1, allowed({point, end - point}, choice, counts));
    }
  }
  removals_.move_to(counts.removed);
}

void Searcher::points(std::span<const std::uint64_t> points, Best& best, Counts& counts,
                      const std::function<void(const Answer&)>& each) {
  Look look{false, best, counts, each};
  for (const std::uint64_t point : points) {
    if (setting(point).estimator == nullptr) {
      refuse(1, counts);
    } else {
      ++counts.points;
      look_at({point, 1}, look);
    }
  }
  removals_.move_to(counts.removed);
}

std::vector<std::uint64_t> random_points(std::uint64_t size, std::int64_t samples,
                                         std::int64_t seed) {
  std::mt19937_64 random(static_cast<std::uint64_t>(seed));
  std::vector<std::uint64_t> points;
  if (static_cast<std::uint64_t>(samples) >= size) {
    for (std::uint64_t p = 0; p < size; ++p) { points.push_back(p); }
    return points;
  }
  points.reserve(static_cast<std::size_t>(samples));
  for (int round = 0; round < 64 && points.size() < static_cast<std::size_t>(samples); ++round) {
    while (points.size() < static_cast<std::size_t>(samples)) { points.push_back(random() % size); }
    std::ranges::sort(points);
    points.erase(std::unique(points.begin(), points.end()), points.end());
  }
  return points;
}

}  // namespace tsim::sim
