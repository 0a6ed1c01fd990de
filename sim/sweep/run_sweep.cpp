#include "sim/sweep/run_sweep.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <set>

#include "sim/input/read_scenario.hpp"
#include "sim/known_paths.hpp"
#include "sim/report/report.hpp"
#include "sim/sweep/database.hpp"
#include "sim/sweep/workers.hpp"

namespace tsim::sim {

volatile std::sig_atomic_t stop_requested = 0;

namespace {

constexpr std::int64_t kProbe = 4096;  // random points before a search that passes others over

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// What a worker process keeps between requests.
class Server {
 public:
  explicit Server(const SweepSpec& spec) : spec_(spec) {}

  std::string operator()(std::string_view bytes) {
    const Request request = unpacked_request(bytes);
    if (!searcher_) { searcher_ = std::make_unique<Searcher>(spec_); }
    if (request.simulate) { return packed(simulated(request)); }
    router_.reset();  // the search may read its setting again
    Outcome outcome;
    Best best(spec_);
    const auto each =
        request.keep_all
            ? std::function<void(const Answer&)>([&](const Answer& a) { outcome.all.push_back(a); })
            : nullptr;
    const bool bounded = !request.limits.empty();
    if (bounded) { best.bound(request.limits.front()); }
    if (request.points.empty()) {
      searcher_->range({request.first, request.last, bounded}, best, outcome.counts, each);
    } else {
      searcher_->points(request.points, best, outcome.counts, each);
    }
    outcome.best = best.answers();
    return packed(outcome);
  }

 private:
  /// As simulate_answer(), with paths that are kept as long as the setting is the same.
  Simulated simulated(const Request& request) {
    Estimator& estimator = *searcher_->setting(request.first).estimator;
    const std::uint64_t setting = request.first / searcher_->space().setting_size();
    if (!router_ || setting != routed_) {
      router_.emplace(estimator.scenario().cluster.topology);
      routed_ = setting;
    }
    Simulated result;
    try {
      const Scenario& scenario = estimator.with(request.choice);
      const Report report = summarise(scenario, run_scenario(scenario, *router_));
      result = {report.step.value, report.needed.value, report.fits, {}};
    } catch (const std::exception& error) { result.failure = error.what(); }
    return result;
  }

  const SweepSpec& spec_;
  std::unique_ptr<Searcher> searcher_;
  std::optional<cost::Router> router_;
  std::uint64_t routed_ = 0;  // the setting whose cluster that is for
};

class SweepRunner {
 public:
  SweepRunner(const SweepSpec& spec, const SweepRun& run)
      : spec_(spec),
        run_(run),
        space_(spec),
        best_(spec),
        server_(std::make_shared<Server>(spec)) {}

  SweepReport operator()() {
    report_.size = space_.size();
    if (under_mpi() && !is_first_rank()) {
      serve_over_mpi(serve());
      return std::move(report_);
    }
    const HandOut hand_out = under_mpi() ? crew_over_mpi() : crew_of_processes(run_.jobs, serve());
    if (!run_.database.empty()) {
      database_ = std::make_unique<Database>(run_.database, spec_, run_.version);
      resume();
    }
    if (spec_.search == Search::random) {
      points_ = random_points(space_.size(), spec_.samples, spec_.seed);
    }
    if (bounded()) { probe(); }
    start_ = now();
    hand_out({[this] { return next_part(); },
              [this](std::string_view r, std::string_view reply) { take_part(r, reply); }});
    report_.seconds = now() - start_;
    for (const Answer& a : best_.answers()) { report_.answers.push_back({a, false, {}}); }
    start_ = now();
    hand_out({[this] { return next_event(); },
              [this](std::string_view r, std::string_view reply) { take_event(r, reply); }});
    report_.event_seconds = now() - start_;
    report_.stopped = stop_requested != 0;
    return std::move(report_);
  }

 private:
  bool bounded() const { return spec_.search == Search::best && spec_.goals.size() == 1; }

  Serve serve() const {
    return [server = server_](std::string_view request) { return (*server)(request); };
  }

  void resume() {
    for (const std::int64_t part : database_->parts()) { done_.insert(part); }
    report_.counts = database_->counts();
    report_.kept = report_.counts.points;
    const bool all = spec_.goals.size() > 1 || spec_.apart;
    const std::size_t count = all ? 0 : static_cast<std::size_t>(spec_.top);
    database_->best(spec_, count, [this](Answer a) { best_.add(std::move(a)); });
  }

  /// A first limit, so that parts that are far from it are passed over from the start.
  void probe() {
    Searcher searcher(spec_);
    Best best(static_cast<std::size_t>(spec_.top), false, spec_.apart);
    Counts ignored;
    searcher.points(random_points(space_.size(), kProbe, spec_.seed), best, ignored);
    probed_ = best.limit();
  }

  std::uint64_t total() const {
    return spec_.search == Search::random ? points_.size() : space_.size();
  }

  std::optional<std::string> next_part() {
    for (; part_ * run_.part < total() && stop_requested == 0; ++part_) {
      if (done_.contains(static_cast<std::int64_t>(part_))) { continue; }
      Request r;
      r.first = part_ * run_.part;
      r.last = std::min(total(), r.first + run_.part);
      if (spec_.search == Search::random) {
        r.points.assign(points_.begin() + static_cast<std::ptrdiff_t>(r.first),
                        points_.begin() + static_cast<std::ptrdiff_t>(r.last));
      }
      r.keep_all = database_ != nullptr;
      if (bounded()) { r.limits = {std::min(best_.limit(), probed_)}; }
      ++part_;
      return packed(r);
    }
    return std::nullopt;
  }

  std::optional<std::string> next_event() {
    while (event_ < report_.answers.size() && stop_requested == 0) {
      Judged& judged = report_.answers[event_];
      ++event_;
      if (static_cast<std::int64_t>(event_) > spec_.events) { break; }
      if (database_) {
        if (const auto known = database_->simulated(judged.answer.point)) {
          judged.simulated = true;
          judged.events = *known;
          continue;
        }
      }
      Request r;
      r.simulate = true;
      r.first = judged.answer.point;
      r.choice = judged.answer.choice;
      return packed(r);
    }
    return std::nullopt;
  }

  void take_event(std::string_view request, std::string_view reply) {
    const Request r = unpacked_request(request);
    const auto at = std::ranges::find_if(
        report_.answers, [&](const Judged& j) { return j.answer.point == r.first; });
    at->simulated = true;
    at->events = unpacked_simulated(reply);
    if (database_) { database_->add(r.first, at->events); }
  }

  void take_part(std::string_view request, std::string_view reply) {
    const Request r = unpacked_request(request);
    Outcome outcome = unpacked_outcome(reply);
    report_.counts.add(outcome.counts);
    for (Answer& a : outcome.best) { best_.add(std::move(a)); }
    if (database_) {
      database_->add(static_cast<std::int64_t>(r.first / run_.part), outcome, spec_);
    }
    tell();
  }

  void tell() const {
    if (!run_.progress) { return; }
    Progress p{report_.counts.points, total(), now() - start_, 0, false};
    if (!best_.answers().empty()) {
      p.best = shown(spec_.goals.front(), best_.answers().front().goals.front());
    }
    run_.progress(p);
  }

  const SweepSpec& spec_;
  const SweepRun& run_;
  Space space_;
  Best best_;
  double probed_ = std::numeric_limits<double>::infinity();
  std::unique_ptr<Database> database_;
  std::shared_ptr<Server> server_;
  std::set<std::int64_t> done_;
  std::vector<std::uint64_t> points_;  // of a random search
  std::uint64_t part_ = 0;
  std::size_t event_ = 0;
  double start_ = 0;
  SweepReport report_;
};

/// First those that the event tier has judged to fit, by its step; then the others as they are.
void order_by_events(const SweepSpec& spec, SweepReport& report) {
  if (spec.goals.size() > 1 || spec.goals.front() == Goal::memory) { return; }
  const auto key = [](const Judged& j) {
    const bool good = j.simulated && j.events.failure.empty() && j.events.fits;
    return std::pair(good ? 0 : (j.simulated ? 2 : 1), good ? j.events.step : 0.0);
  };
  std::ranges::stable_sort(report.answers, {}, key);
}

}  // namespace

Simulated simulate_answer(const SweepSpec& spec, const Space& space, std::uint64_t point,
                          const Choice& choice) {
  Simulated result;
  try {
    const Json document = document_of(spec, space.digits(point), choice);
    const Scenario scenario = read_scenario_text(document.dump(), spec.file).base;
    const Report report = summarise(scenario, run_scenario(scenario));
    result.step = report.step.value;
    result.memory = report.needed.value;
    result.fits = report.fits;
  } catch (const std::exception& error) { result.failure = error.what(); }
  return result;
}

SweepReport run_sweep(const SweepSpec& spec, const SweepRun& run) {
  SweepReport report = SweepRunner(spec, run)();
  order_by_events(spec, report);
  return report;
}

}  // namespace tsim::sim
