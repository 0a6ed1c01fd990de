// The algorithms known by name, and the choice among them.
#include <algorithm>
#include <array>
#include <cassert>
#include <exception>
#include <limits>
#include <optional>
#include <stdexcept>

#include "cost/collective_curve.hpp"
#include "cost/collectives/algorithms.hpp"

namespace tsim::cost {
namespace {

using collectives::Draft;
using collectives::Request;

struct Row {
  CollectiveOp op{};
  std::string_view name;
  collectives::Algorithm* plan;
  bool chosen = false;  // by communication libraries when they are left the choice
};

using enum CollectiveOp;
constexpr std::array kAlgorithms{
    Row{all_reduce, "ring", collectives::ring, true},
    Row{all_reduce, "tree", collectives::tree, true},
    Row{all_reduce, "in_switch", collectives::in_switch, true},
    Row{all_reduce, "halving_doubling", collectives::halving_doubling},
    Row{all_reduce, "hierarchical", collectives::hierarchical},
    Row{all_reduce, "hierarchical_serial", collectives::hierarchical_serial},
    Row{all_reduce, "torus", collectives::torus, true},
    Row{all_reduce, "direct", collectives::direct},
    Row{all_reduce, "reduce_broadcast", collectives::reduce_broadcast},
    Row{all_reduce, "parameter_server", collectives::parameter_server},
    Row{all_reduce, "sharded_server", collectives::sharded_server},
    Row{reduce_scatter, "ring", collectives::ring, true},
    Row{reduce_scatter, "direct", collectives::direct},
    Row{reduce_scatter, "halving", collectives::halving},
    Row{reduce_scatter, "hierarchical", collectives::hierarchical},
    Row{all_gather, "ring", collectives::ring, true},
    Row{all_gather, "bruck", collectives::bruck},
    Row{all_gather, "direct", collectives::direct},
    Row{all_gather, "doubling", collectives::doubling},
    Row{all_gather, "hierarchical", collectives::hierarchical},
    Row{broadcast, "ring", collectives::ring, true},
    Row{broadcast, "tree", collectives::tree, true},
    Row{broadcast, "direct", collectives::direct},
    Row{reduce, "ring", collectives::ring, true},
    Row{reduce, "tree", collectives::tree, true},
    Row{reduce, "direct", collectives::direct},
    Row{scatter, "direct", collectives::direct, true},
    Row{gather, "direct", collectives::direct, true},
    Row{all_to_all, "direct", collectives::direct, true},
    Row{all_to_all, "rails", collectives::rails, true},
    Row{all_to_all, "bruck", collectives::bruck},
    Row{send_recv, "direct", collectives::direct, true},
    Row{barrier, "dissemination", collectives::dissemination, true},
};

std::invalid_argument unknown(CollectiveOp op, std::string_view name) {
  std::string text = "found \"" + std::string(name) + "\", expected auto";
  for (const std::string_view known : collective_algorithms(op)) {
    text += ", " + std::string(known);
  }
  return std::invalid_argument(text + " (algorithms of " + std::string(name_of(op)) + ")");
}

/// The fastest plan of several, alone on the wires.
class Choice {
 public:
  explicit Choice(Router& router) : router_(router) {}

  /// Tries one algorithm in all regimes that it has.
  void consider(const Row& row, const Request& request) {
    for (const Regime* regime : regimes_for(router_.topology().tuning, row.op, row.name)) {
      Draft draft(*regime, router_);
      row.plan(request, draft);
      draft.finish(request.payload);
      const Seconds time = draft.time();
      if (best && time >= time_) { continue; }
      time_ = time;
      best = std::move(draft).plan(row.name);
    }
  }

  std::optional<CollectivePlan> best;

 private:
  Router& router_;
  Seconds time_{};
};

/// The lines of one algorithm, one for each regime that it has. A plan's transfers and its busiest
/// channels grow with the payload, so two payloads tell the line.
std::vector<CollectiveCurve::Line> lines_of(const Row& row, Request request, Router& router) {
  constexpr double kProbe = 1099511627776.0;  // 2^40 bytes: latencies are nothing beside that
  std::vector<CollectiveCurve::Line> lines;
  for (const Regime* own : regimes_for(router.topology().tuning, row.op, row.name)) {
    Regime regime = *own;
    regime.least = {};  // set again below: with it the time is no line
    const auto time = [&](double payload) {
      request.payload = payload;
      Draft draft(regime, router);
      row.plan(request, draft);
      draft.finish(payload);
      return draft.time();
    };
    const Seconds fixed = time(0);
    lines.push_back({own->least, fixed, (time(kProbe) - fixed).value / kProbe});
  }
  return lines;
}

/// What `consider` does, for each algorithm that libraries choose from. Leaves out those that the
/// devices cannot run, unless there is no other.
template <class Consider>
void for_each_chosen(CollectiveOp op, const Consider& consider) {
  bool any = false;
  std::exception_ptr reason;
  for (const Row& row : kAlgorithms) {
    if (row.op != op || !row.chosen) { continue; }
    try {
      consider(row);
      any = true;
    } catch (const std::invalid_argument&) {
    } catch (const Unreachable&) {
      if (!reason) { reason = std::current_exception(); }
    }
  }
  if (!any) { std::rethrow_exception(reason); }
}

CollectivePlan fastest(const Request& request, Router& router) {
  Choice choice(router);
  for_each_chosen(request.op, [&](const Row& row) { choice.consider(row, request); });
  return *std::move(choice.best);
}

const Row& row_named(CollectiveOp op, std::string_view algorithm) {
  const bool choose = algorithm == "auto";
  const auto* const row = std::ranges::find_if(kAlgorithms, [&](const Row& r) {
    return r.op == op && (choose ? r.chosen : r.name == algorithm);
  });
  if (row == kAlgorithms.end()) { throw unknown(op, algorithm); }
  return *row;
}

}  // namespace

std::string_view name_of(CollectiveOp op) {
  constexpr std::array<std::string_view, 10> kNames{
      "all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce",
      "scatter",    "gather",         "all_to_all", "send_recv", "barrier"};
  return kNames[static_cast<std::size_t>(op)];
}

std::vector<std::string_view> collective_algorithms(CollectiveOp op) {
  std::vector<std::string_view> names;
  for (const Row& row : kAlgorithms) {
    if (row.op == op) { names.push_back(row.name); }
  }
  return names;
}

std::vector<std::string_view> automatic_algorithms(CollectiveOp op) {
  std::vector<std::string_view> names;
  for (const Row& row : kAlgorithms) {
    if (row.op == op && row.chosen) { names.push_back(row.name); }
  }
  return names;
}

CollectivePlan plan_collective(CollectiveOp op, std::string_view algorithm,
                               std::span<const int> devices, Bytes payload, Router& router) {
  assert(!devices.empty() && payload.value >= 0);
  const Request request{op, devices, to_double(payload)};
  const Row& row = row_named(op, algorithm);
  if (devices.size() == 1) { return {std::string(row.name), {}, {}, {}}; }
  if (algorithm == "auto") { return fastest(request, router); }
  Choice choice(router);
  choice.consider(row, request);
  return *std::move(choice.best);
}

CollectiveCurve collective_curve(CollectiveOp op, std::string_view algorithm,
                                 std::span<const int> devices, Router& router) {
  assert(!devices.empty());
  const Row& row = row_named(op, algorithm);
  if (devices.size() == 1) { return {}; }
  const Request request{op, devices, 0};
  if (algorithm != "auto") { return {lines_of(row, request, router)}; }
  CollectiveCurve curve;
  for_each_chosen(op, [&](const Row& chosen) {
    const std::vector<CollectiveCurve::Line> lines = lines_of(chosen, request, router);
    curve.lines.insert(curve.lines.end(), lines.begin(), lines.end());
  });
  return curve;
}

Seconds time_at(const CollectiveCurve& curve, Bytes payload) {
  if (curve.lines.empty()) { return {}; }
  const double size = to_double(payload);
  double best = std::numeric_limits<double>::infinity();
  for (const CollectiveCurve::Line& line : curve.lines) {
    best = std::min(best, std::max(line.least.value, line.fixed.value + size * line.per_byte));
  }
  return {best};
}

CollectivePlan plan_all_to_all(std::span<const int> devices, std::span<const double> bytes,
                               Router& router) {
  assert(bytes.size() == devices.size() * devices.size());
  const auto regimes = regimes_for(router.topology().tuning, all_to_all, "direct");
  Draft draft(*regimes.front(), router);
  Seconds slowest;
  double most = 0;  // that one device sends
  for (std::size_t i = 0; i < devices.size(); ++i) {
    double sent = 0;
    for (std::size_t j = 0; j < devices.size(); ++j) {
      const double part = bytes[i * devices.size() + j];
      if (i == j || part <= 0) { continue; }
      sent += part;
      slowest = std::max(slowest, draft.send(devices[i], devices[j], part));
    }
    most = std::max(most, sent);
  }
  if (most <= 0) { return {"direct", {}, {}, {}}; }
  draft.add_latency(slowest);
  draft.finish(most);
  return std::move(draft).plan("direct");
}

CollectivePlan plan_parameter_servers(std::span<const int> workers, std::span<const int> servers,
                                      Bytes payload, Router& router) {
  assert(!workers.empty() && !servers.empty());
  const auto regimes = regimes_for(router.topology().tuning, all_reduce, "parameter_server");
  Draft draft(*regimes.front(), router);
  const double part = to_double(payload) / static_cast<double>(servers.size());
  const auto all_to = [&](std::span<const int> from, std::span<const int> to) {
    Seconds slowest;
    for (const int a : from) {
      for (const int b : to) {
        if (a != b) { slowest = std::max(slowest, draft.send(a, b, part)); }
      }
    }
    return slowest;
  };
  draft.end_step(all_to(workers, servers));
  draft.end_step(all_to(servers, workers));
  draft.finish(to_double(payload));
  return std::move(draft).plan("parameter_server");
}

double bus_factor(CollectiveOp op, int ranks) {
  const double n = ranks;
  switch (op) {
    case all_reduce: return 2 * (n - 1) / n;
    case reduce_scatter:
    case all_gather:
    case all_to_all:
    case scatter:
    case gather: return (n - 1) / n;
    case broadcast:
    case reduce:
    case send_recv:
    case barrier: return 1;
  }
  return 1;
}

Seconds time_alone(const CollectivePlan& plan, const Topology& topology, Router& router) {
  std::vector<const Path*> paths;
  for (const Transfer& t : plan.transfers) { paths.push_back(&router.path(t.from, t.to)); }
  return plan.latency + collectives::busiest_channel(paths, plan.transfers, false, topology);
}

}  // namespace tsim::cost
