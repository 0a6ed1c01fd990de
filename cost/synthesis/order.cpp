#include "cost/synthesis/order.hpp"

#include <algorithm>
#include <cassert>
#include <map>
#include <queue>
#include <tuple>
#include <utility>

namespace tsim::cost::synthesis {
namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }

/// Who waits for each step, in compressed rows.
struct Dependents {
  std::vector<std::uint32_t> first;
  std::vector<StepId> steps;

  std::span<const StepId> of(StepId i) const {
    return {steps.data() + first[i], steps.data() + first[i + 1]};
  }
};

Dependents dependents_in(const CollectiveProgram& p) {
  Dependents d{std::vector<std::uint32_t>(p.steps.size() + 1, 0), {}};
  for (const StepId before : p.after) { ++d.first[before + 1]; }
  for (std::size_t i = 1; i < d.first.size(); ++i) { d.first[i] += d.first[i - 1]; }
  d.steps.resize(p.after.size());
  std::vector<std::uint32_t> next(d.first.begin(), d.first.end() - 1);
  for (StepId i = 0; i < p.steps.size(); ++i) {
    for (const StepId before : dependencies(p, i)) { d.steps[next[before]++] = i; }
  }
  return d;
}

/// Every channel carries one step after the other.
class ListSchedule {
 public:
  ListSchedule(const CollectiveProgram& p, const Ways& ways, double chunk)
      : p_(p), ways_(ways), chunk_(chunk), dependents_(dependents_in(p)) {
    free_.assign(ways.paces().size(), 0);
    waiting_.resize(free_.size());
    ready_.assign(p.steps.size(), 0);
    height_.assign(p.steps.size(), 0);
    for (auto i = static_cast<StepId>(p.steps.size()); i-- > 0;) {
      for (const StepId next : dependents_.of(i)) {
        height_[i] = std::max(height_[i], height_[next]);
      }
      height_[i] += duration(i) + latency(i);
    }
  }

  std::vector<StepId> order() {
    waits_.resize(p_.steps.size());
    for (StepId i = 0; i < p_.steps.size(); ++i) {
      waits_[i] = p_.first[i + 1] - p_.first[i];
      if (waits_[i] == 0) { offer(i); }
    }
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      if (event.channel >= 0) {
        wake(event.channel, event.time);
      } else {
        start_or_wait(event.step, event.time);
      }
    }
    return std::move(order_);
  }

 private:
  bool local(const Step& s) const { return s.from == s.to; }
  double bytes(StepId i) const { return p_.steps[i].count * chunk_; }
  double duration(StepId i) const {
    const Step& s = p_.steps[i];
    return local(s) ? 0 : bytes(i) * ways_.pace(s.from, s.to);
  }
  double latency(StepId i) const {
    const Step& s = p_.steps[i];
    return local(s) ? 0 : ways_.latency(s.from, s.to);
  }
  std::span<const int> channels(StepId i) const {
    const Step& s = p_.steps[i];
    return local(s) ? std::span<const int>{} : ways_.channels(s.from, s.to);
  }

  /// A step that may start, or a channel (>= 0) that is free again.
  struct Event {
    double time = 0;
    int channel = -1;
    double height = 0;
    StepId step = 0;

    bool operator>(const Event& o) const {
      return std::tuple{time, channel < 0, -height, step} >
             std::tuple{o.time, o.channel < 0, -o.height, o.step};
    }
  };

  void offer(StepId i) { events_.push({ready_[i], -1, height_[i], i}); }

  /// Lets the step start now, or wait at the channel that is busy longest.
  void start_or_wait(StepId i, double now) {
    int busy = -1;
    for (const int c : channels(i)) {
      if (free_[index(c)] > now && (busy < 0 || free_[index(c)] > free_[index(busy)])) { busy = c; }
    }
    if (busy >= 0) {
      if (waiting_[index(busy)].empty()) { events_.push({free_[index(busy)], busy}); }
      waiting_[index(busy)].emplace(height_[i], ~i);
      return;
    }
    for (const int c : channels(i)) {
      double& free = free_[index(c)];
      free = std::max(free, now) + bytes(i) * ways_.paces()[index(c)];
    }
    order_.push_back(i);
    for (const StepId next : dependents_.of(i)) {
      ready_[next] = std::max(ready_[next], now + duration(i) + latency(i));
      if (--waits_[next] == 0) { offer(next); }
    }
  }

  /// Lets those go that wait at a channel, until one of them takes it.
  void wake(int channel, double now) {
    auto& waiting = waiting_[index(channel)];
    while (!waiting.empty() && free_[index(channel)] <= now) {
      const StepId step = ~waiting.top().second;
      waiting.pop();
      start_or_wait(step, now);
    }
    if (!waiting.empty()) { events_.push({free_[index(channel)], channel}); }
  }

  const CollectiveProgram& p_;
  const Ways& ways_;
  double chunk_;
  Dependents dependents_;
  std::vector<double> free_, ready_, height_;
  std::vector<std::uint32_t> waits_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  /// By channel: heights of steps and their numbers turned round, so that the first is the least.
  std::vector<std::priority_queue<std::pair<double, StepId>>> waiting_;
  std::vector<StepId> order_;
};

/// The program with step order[i] as its i-th.
CollectiveProgram rearranged(const CollectiveProgram& p, std::span<const StepId> order) {
  std::vector<StepId> place(p.steps.size());
  for (StepId i = 0; i < order.size(); ++i) { place[order[i]] = i; }
  CollectiveProgram result = p;
  result.first = {0};
  result.after.clear();
  for (StepId i = 0; i < order.size(); ++i) {
    result.steps[i] = p.steps[order[i]];
    const auto begin = static_cast<std::ptrdiff_t>(result.after.size());
    for (const StepId before : dependencies(p, order[i])) { result.after.push_back(place[before]); }
    std::sort(result.after.begin() + begin, result.after.end());
    result.first.push_back(static_cast<std::uint32_t>(result.after.size()));
  }
  return result;
}

/// Joins steps with later ones.
class Merger {
 public:
  explicit Merger(const CollectiveProgram& p)
      : p_(p), dependents_(dependents_in(p)), into_(p.steps.size()), steps_(p.steps) {
    for (StepId i = 0; i < into_.size(); ++i) { into_[i] = i; }
  }

  CollectiveProgram merged() {
    std::map<std::tuple<int, int, int>, StepId> last;  // by connection
    for (StepId i = 0; i < p_.steps.size(); ++i) {
      const Step& s = p_.steps[i];
      const auto [entry, is_new] = last.try_emplace({s.from, s.to, s.channel}, i);
      if (is_new) { continue; }
      if (fit(entry->second, i)) {
        steps_[entry->second].count += s.count;
        into_[i] = entry->second;
      } else {
        entry->second = i;
      }
    }
    return rest();
  }

 private:
  /// Whether step `later` may go with step `head`, which earlier ones may have joined.
  bool fit(StepId head, StepId later) const {
    const Step &a = steps_[head], &b = p_.steps[later];
    if (a.reduce != b.reduce || a.source_buffer != b.source_buffer ||
        a.target_buffer != b.target_buffer || a.source + a.count != b.source ||
        a.target + a.count != b.target) {
      return false;
    }
    const auto waits_too = [&](StepId d) {
      const auto known = dependencies(p_, head);
      return std::ranges::any_of(known, [&](StepId k) { return into_[k] == into_[d]; });
    };
    return std::ranges::all_of(dependencies(p_, later), waits_too) &&
           std::ranges::equal(dependents_.of(head), dependents_.of(later));
  }

  CollectiveProgram rest() const {
    CollectiveProgram result = p_;
    result.steps.clear();
    result.first = {0};
    result.after.clear();
    std::vector<StepId> place(p_.steps.size());
    std::vector<std::vector<StepId>> members(p_.steps.size());
    for (StepId i = 0; i < p_.steps.size(); ++i) { members[into_[i]].push_back(i); }
    for (StepId i = 0; i < p_.steps.size(); ++i) {
      if (into_[i] != i) { continue; }
      place[i] = static_cast<StepId>(result.steps.size());
      const auto begin = static_cast<std::ptrdiff_t>(result.after.size());
      for (const StepId member : members[i]) {
        for (const StepId d : dependencies(p_, member)) { result.after.push_back(place[into_[d]]); }
      }
      std::sort(result.after.begin() + begin, result.after.end());
      result.after.erase(std::unique(result.after.begin() + begin, result.after.end()),
                         result.after.end());
      result.steps.push_back(steps_[i]);
      result.first.push_back(static_cast<std::uint32_t>(result.after.size()));
    }
    return result;
  }

  const CollectiveProgram& p_;
  Dependents dependents_;
  std::vector<StepId> into_;  // the step that each goes with
  std::vector<Step> steps_;   // with all that goes with them
};

}  // namespace

CollectiveProgram ordered(const CollectiveProgram& program, const Ways& ways, double chunk) {
  const std::vector<StepId> order = ListSchedule(program, ways, chunk).order();
  assert(order.size() == program.steps.size());
  return rearranged(program, order);
}

CollectiveProgram merged(const CollectiveProgram& program) { return Merger(program).merged(); }

}  // namespace tsim::cost::synthesis
