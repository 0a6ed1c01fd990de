// The algorithms known by name, and the choice among them.
#include <array>
#include <cassert>
#include <stdexcept>
#include <utility>

#include "cost/collectives/algorithms.hpp"

namespace tsim::cost {
namespace {

using collectives::Request;

struct Algorithm {
  CollectiveOp op{};
  std::string_view name;
  CollectivePlan (*plan)(const Request&, Router&);
};

constexpr std::array kAlgorithms{
    Algorithm{CollectiveOp::all_reduce, "ring", collectives::ring},
    Algorithm{CollectiveOp::all_reduce, "tree", collectives::tree},
    Algorithm{CollectiveOp::reduce_scatter, "ring", collectives::ring},
    Algorithm{CollectiveOp::all_gather, "ring", collectives::ring},
    Algorithm{CollectiveOp::broadcast, "ring", collectives::ring},
    Algorithm{CollectiveOp::broadcast, "tree", collectives::tree},
    Algorithm{CollectiveOp::reduce, "ring", collectives::ring},
    Algorithm{CollectiveOp::reduce, "tree", collectives::tree},
    Algorithm{CollectiveOp::scatter, "direct", collectives::direct},
    Algorithm{CollectiveOp::gather, "direct", collectives::direct},
    Algorithm{CollectiveOp::all_to_all, "direct", collectives::direct},
    Algorithm{CollectiveOp::send_recv, "direct", collectives::direct},
    Algorithm{CollectiveOp::barrier, "dissemination", collectives::dissemination},
};

std::invalid_argument unknown(CollectiveOp op, std::string_view name) {
  std::string text = "found \"" + std::string(name) + "\", expected auto";
  for (const std::string_view known : collective_algorithms(op)) {
    text += ", " + std::string(known);
  }
  return std::invalid_argument(text + " (algorithms of " + std::string(name_of(op)) + ")");
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
  for (const Algorithm& a : kAlgorithms) {
    if (a.op == op) { names.push_back(a.name); }
  }
  return names;
}

CollectivePlan plan_collective(CollectiveOp op, std::string_view algorithm,
                               std::span<const int> devices, Bytes payload, Router& router) {
  assert(!devices.empty() && payload.value >= 0);
  const Request request{op, devices, to_double(payload)};
  CollectivePlan best;
  Seconds best_time;
  for (const Algorithm& a : kAlgorithms) {
    if (a.op != op || (algorithm != "auto" && algorithm != a.name)) { continue; }
    CollectivePlan plan;
    if (devices.size() > 1) { plan = a.plan(request, router); }
    plan.algorithm = a.name;
    if (algorithm != "auto") { return plan; }
    const Seconds time = time_alone(plan, router.topology(), router);
    if (best.algorithm.empty() || time < best_time) {
      best_time = time;
      best = std::move(plan);
    }
  }
  if (best.algorithm.empty()) { throw unknown(op, algorithm); }
  return best;
}

Seconds time_alone(const CollectivePlan& plan, const Topology& topology, Router& router) {
  std::vector<std::pair<ChannelId, double>> loads;
  for (const Transfer& t : plan.transfers) {
    for (const ChannelId c : router.path(t.from, t.to).channels) { loads.emplace_back(c, t.bytes); }
  }
  std::sort(loads.begin(), loads.end());
  double slowest = 0;
  for (std::size_t i = 0; i < loads.size();) {
    const ChannelId c = loads[i].first;
    double bytes = 0;
    for (; i < loads.size() && loads[i].first == c; ++i) { bytes += loads[i].second; }
    slowest =
        std::max(slowest, bytes / topology.channels[static_cast<std::size_t>(c)].bandwidth.value);
  }
  return plan.latency + Seconds{slowest};
}

}  // namespace tsim::cost
