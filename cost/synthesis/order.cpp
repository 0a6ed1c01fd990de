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
    ready_.assign(p.steps.size(), 0);
    height_.assign(p.steps.size(), 0);
    for (StepId i = static_cast<StepId>(p.steps.size()); i-- > 0;) {
      for (const StepId next : dependents_.of(i)) {
        height_[i] = std::max(height_[i], height_[next]);
      }
      height_[i] += duration(i) + latency(i);
    }
  }

  std::vector<StepId> order() {
    std::vector<std::uint32_t> waits(p_.steps.size());
    for (StepId i = 0; i < p_.steps.size(); ++i) {
      waits[i] = p_.first[i + 1] - p_.first[i];
      if (waits[i] == 0) { offer(i); }
    }
    std::vector<StepId> order;
    while (!offers_.empty()) {
      const auto [start, low, step] = offers_.top();
      offers_.pop();
      const double now = earliest(step);
      if (now > start) {
        offer(step);
        continue;
      }
      take(step, now);
      order.push_back(step);
      for (const StepId next : dependents_.of(step)) {
        ready_[next] = std::max(ready_[next], now + duration(step) + latency(step));
        if (--waits[next] == 0) { offer(next); }
      }
    }
    return order;
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

  double earliest(StepId i) const {
    double start = ready_[i];
    for (const int c : channels(i)) { start = std::max(start, free_[index(c)]); }
    return start;
  }

  void take(StepId i, double start) {
    for (const int c : channels(i)) {
      double& free = free_[index(c)];
      free = std::max(free, start) + bytes(i) * ways_.paces()[index(c)];
    }
  }

  void offer(StepId i) { offers_.emplace(earliest(i), -height_[i], i); }

  using Offer = std::tuple<double, double, StepId>;  // start, height turned round, step

  const CollectiveProgram& p_;
  const Ways& ways_;
  double chunk_;
  Dependents dependents_;
  std::vector<double> free_, ready_, height_;
  std::priority_queue<Offer, std::vector<Offer>, std::greater<>> offers_;
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
    const auto before = dependencies(p_, later);
    return std::ranges::all_of(before, [&](StepId d) { return into_[d] < head; }) &&
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
