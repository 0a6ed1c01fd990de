#include "cost/synthesis/synthesise.hpp"

#include <algorithm>
#include <cassert>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>

#include "cost/synthesis/candidates.hpp"

namespace tsim::cost {
namespace {

using synthesis::LibraryProgram;
using synthesis::MadeProgram;
using synthesis::Ways;

std::size_t index(int i) { return static_cast<std::size_t>(i); }

/// Seconds that the busiest channel carries a program's steps, and the busiest one inside nodes.
struct Busiest {
  double all = 0, inside = 0;
};

Busiest busiest(const CollectiveProgram& p, double payload, const Ways& ways,
                const Topology& topology) {
  std::vector<double> busy(ways.paces().size(), 0);
  for (const Step& s : p.steps) {
    if (s.from == s.to) { continue; }
    for (const int c : ways.channels(s.from, s.to)) {
      busy[index(c)] += s.count * payload / p.chunks * ways.paces()[index(c)];
    }
  }
  Busiest found;
  for (std::size_t c = 0; c < busy.size(); ++c) {
    const LinkKind kind = topology.channels[index(ways.channel(static_cast<int>(c)))].kind;
    found.all = std::max(found.all, busy[c]);
    if (kind != LinkKind::nic && kind != LinkKind::fabric) {
      found.inside = std::max(found.inside, busy[c]);
    }
  }
  return found;
}

/// Time that the program's longest chain of steps takes.
double longest_chain(const CollectiveProgram& p, double payload, const Ways& ways) {
  const double chunk = payload / p.chunks;
  std::vector<double> end(p.steps.size(), 0);
  std::map<std::tuple<int, int, int>, double> sent;  // by connection: when its wires are free
  double last = 0;
  for (StepId i = 0; i < p.steps.size(); ++i) {
    const Step& s = p.steps[i];
    double start = 0;
    for (const StepId before : dependencies(p, i)) { start = std::max(start, end[before]); }
    end[i] = start;
    if (s.from == s.to) { continue; }
    double& free = sent[{s.from, s.to, s.channel}];
    free = std::max(start, free) + s.count * chunk * ways.pace(s.from, s.to);
    end[i] = free + ways.latency(s.from, s.to);
    last = std::max(last, end[i]);
  }
  return last;
}

/// A library's regime, and the wires as its steps see them.
struct View {
  const Regime* regime = nullptr;
  Ways ways;
};

/// The views of all regimes that a new algorithm can run in.
std::vector<View> views_of(const SynthesisRequest& request, Router& router) {
  std::vector<View> views;
  for (const Regime* r : regimes_for(router.topology().tuning, request.op, "synthesised")) {
    views.push_back({r, Ways(request.devices, request.links, *r, router)});
  }
  return views;
}

/// What the regime asks for; its ranks' memory is passed beside the wires between nodes, as the
/// planner counts it.
StepCosts costs_of(const Regime& regime, double payload, const Busiest& busy) {
  StepCosts costs{regime.start, regime.step, regime.network_step, regime.least, regime.share};
  if (regime.buffer < kUnlimited) {
    const double inside = busy.inside + payload / regime.buffer.value;
    costs.once += Seconds{std::max(0.0, inside - busy.all)};
  }
  return costs;
}

/// The regime in which a program can be fastest.
struct Outlook {
  std::size_t view = 0;
  StepCosts costs;
  Seconds least;
};

Outlook outlook_for(const CollectiveProgram& program, double payload, std::span<const View> views,
                    const Topology& topology) {
  Outlook best;
  for (std::size_t v = 0; v < views.size(); ++v) {
    const Busiest busy = busiest(program, payload, views[v].ways, topology);
    const StepCosts costs = costs_of(*views[v].regime, payload, busy);
    const Seconds wires{std::max(busy.all, longest_chain(program, payload, views[v].ways))};
    const Seconds least = std::max(costs.least, costs.once + wires);
    if (v == 0 || least < best.least) { best = {v, costs, least}; }
  }
  return best;
}

/// Two ranks that no links lead between.
Unreachable unreachable(const SynthesisRequest& request, const Topology& topology) {
  const auto name = [&](int rank) {
    const VertexId v = topology.devices[index(request.devices[index(rank)])];
    return topology.vertices[index(v)].name;
  };
  return {name(0), name(static_cast<int>(request.devices.size()) - 1)};
}

/// Whether nothing is slower in `a` than in `b`.
bool as_fast(const Regime& a, const Regime& b) {
  return a.start <= b.start && a.step <= b.step && a.network_step <= b.network_step &&
         a.least <= b.least && a.share >= b.share;
}

/// The regimes that some algorithm of the operation can run in, without those that another one of
/// them is as fast as.
std::vector<Regime> fastest_regimes(const SynthesisRequest& request, std::span<const View> views,
                                    const Tuning& tuning) {
  std::vector<Regime> fastest;
  const auto consider = [&](const Regime& r) {
    if (r.op && *r.op != request.op) { return; }
    if (std::ranges::any_of(fastest, [&](const Regime& f) { return as_fast(f, r); })) { return; }
    std::erase_if(fastest, [&](const Regime& f) { return as_fast(r, f); });
    fastest.push_back(r);
  };
  for (const View& view : views) { consider(*view.regime); }
  for (const Regime& r : tuning.regimes) { consider(r); }
  return fastest;
}

/// The least of the bounds in all regimes.
synthesis::LowerBound bound_over(const SynthesisRequest& request, std::span<const View> views,
                                 Router& router) {
  std::optional<synthesis::LowerBound> least;
  for (const Regime& r : fastest_regimes(request, views, router.topology().tuning)) {
    const Ways ways(request.devices, request.links, r, router);
    synthesis::LowerBound bound = synthesis::lower_bound(request.op, request.payload, ways);
    bound.time = std::max(bound.time + r.start, r.least);
    if (!least || bound.time < least->time) { least = std::move(bound); }
  }
  return *least;
}

/// Programs that compete.
class Contest {
 public:
  Contest(const Judge& judge, const Progress& progress) : judge_(judge), progress_(progress) {}

  void enter(Candidate candidate, const StepCosts& costs, CollectiveProgram program) {
    candidate.steps = program.steps.size();
    candidates_.push_back(std::move(candidate));
    entries_.push_back({costs, std::move(program)});
  }

  /// The library's programs are all run, then of the others those that can beat the best so far,
  /// the most promising first.
  Synthesis result() && {
    std::vector<std::size_t> order(entries_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) {
      return std::pair{!candidates_[i].of_library, candidates_[i].least};
    });
    Synthesis result;
    int done = 0;
    for (const std::size_t i : order) {
      run(i, result, done++ == 0);
      if (progress_) { progress_(done, static_cast<int>(order.size())); }
    }
    prefer_few_steps(result);
    result.program = std::move(entries_[result.winner].program);
    result.costs = entries_[result.winner].costs;
    result.candidates = std::move(candidates_);
    return result;
  }

 private:
  struct Entry {
    StepCosts costs;
    CollectiveProgram program;
  };

  /// A program whose time is so near to the best one's is as good.
  static constexpr double kNear = 1.005;

  void run(std::size_t i, Synthesis& best, bool first) {
    Candidate& candidate = candidates_[i];
    candidate.judged =
        first || candidate.of_library || candidate.least.value < best.time.value * kNear;
    if (!candidate.judged) { return; }
    candidate.time = judge_(entries_[i].program, entries_[i].costs);
    if (first || candidate.time < best.time) {
      best.time = candidate.time;
      best.winner = i;
    }
  }

  /// Of those near the best one that are no slower than all of the library's, the one with the
  /// fewest steps.
  void prefer_few_steps(Synthesis& best) const {
    double limit = best.time.value * kNear;
    for (const Candidate& c : candidates_) {
      if (c.of_library) { limit = std::min(limit, c.time.value); }
    }
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const Candidate& c = candidates_[i];
      const bool good = c.judged && c.time.value <= limit;
      if (good && c.steps < candidates_[best.winner].steps) {
        best.time = c.time;
        best.winner = i;
      }
    }
  }

  const Judge& judge_;
  const Progress& progress_;
  std::vector<Candidate> candidates_;
  std::vector<Entry> entries_;
};

}  // namespace

bool can_synthesise(CollectiveOp op) {
  return op != CollectiveOp::send_recv && op != CollectiveOp::barrier;
}

Synthesis synthesise(const SynthesisRequest& request, Router& router, const Judge& judge,
                     const Progress& progress) {
  assert(request.devices.size() >= 2 && can_synthesise(request.op));
  const double payload = to_double(request.payload);
  const std::vector<View> views = views_of(request, router);
  if (!views[0].ways.connected()) { throw unreachable(request, router.topology()); }
  Contest contest(judge, progress);
  for (LibraryProgram& p : library_programs(request, views[0].ways, router)) {
    contest.enter({p.name, true, p.protocol}, p.costs, std::move(p.program));
  }
  for (MadeProgram& made : made_programs(request, views[0].ways)) {
    const Outlook outlook = outlook_for(made.program, payload, views, router.topology());
    contest.enter({made.name, false, views[outlook.view].regime->protocol, 0, outlook.least},
                  outlook.costs, std::move(made.program));
  }
  Synthesis result = std::move(contest).result();
  result.bound = bound_over(request, views, router);
  return result;
}

}  // namespace tsim::cost
