#include "cost/synthesis/candidates.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "cost/collectives.hpp"
#include "cost/programs/lay_out.hpp"
#include "cost/synthesis/compose.hpp"
#include "cost/synthesis/cuts.hpp"
#include "cost/synthesis/order.hpp"

namespace tsim::cost::synthesis {
namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }

struct NamedTaste {
  std::string_view name;
  Taste taste;
};
constexpr std::array kTastes{
    NamedTaste{"shortest ways", {1, 1, 0}},
    NamedTaste{"short ways", {1, 0.05, 12}},
    NamedTaste{"some detours", {0.3, 0.01, 12}},
    NamedTaste{"least load", {0, 0.001, 12}},
};

bool keeps_to(const Ways& ways, const CollectiveProgram& program) {
  return std::ranges::all_of(
      program.steps, [&](const Step& s) { return s.from == s.to || ways.open(s.from, s.to); });
}

/// Rank from which the farthest one is nearest, there and back.
int centre(const Ways& ways) {
  const int n = ways.ranks();
  int best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (int root = 0; root < n; ++root) {
    double far = 0;
    for (int v = 0; v < n; ++v) {
      if (v == root) { continue; }
      const bool both = ways.open(root, v) && ways.open(v, root);
      far = std::max(far, both ? ways.latency(root, v) + ways.latency(v, root) : 1e9);
    }
    if (far < least) {
      least = far;
      best = root;
    }
  }
  return best;
}

/// By chunk its owner, n * pieces of them: what a rank receives, all but its own chunks, takes all
/// ranks the same time. Ranks that receive fast may own nothing.
std::vector<int> balanced_owners(const Ways& ways, int pieces) {
  const int n = ways.ranks();
  std::vector<double> rates;
  for (int r = 0; r < n; ++r) {
    RankSet alone(index(n), false);
    alone[index(r)] = true;
    rates.push_back(entry_rate(ways, alone));
  }
  const double fastest = std::ranges::max(rates);
  if (std::isinf(fastest)) { return {}; }
  const auto share = [&](int r, double time) {
    return std::max(0.0, 1 - time * rates[index(r)] / fastest);
  };
  double low = 0, high = fastest / std::ranges::min(rates);
  for (int i = 0; i < 60; ++i) {
    const double time = (low + high) / 2;
    double sum = 0;
    for (int r = 0; r < n; ++r) { sum += share(r, time); }
    (sum > 1 ? low : high) = time;
  }
  std::vector<int> owners;
  double due = 0;
  for (int r = 0; r < n; ++r) {
    due += share(r, low) * n * pieces;
    while (static_cast<double>(owners.size()) + 0.5 < due) { owners.push_back(r); }
  }
  owners.resize(index(n * pieces), owners.empty() ? 0 : owners.back());
  return owners;
}

/// The search's variants, one after the other.
class Maker {
 public:
  Maker(const SynthesisRequest& request, const Ways& ways)
      : request_(request), ways_(ways), turned_(ways.reversed()) {}

  std::vector<MadeProgram> all() {
    for (const int pieces : numbers_of_pieces()) {
      if (request_.op == CollectiveOp::all_reduce) {
        all_reduces(pieces);
      } else {
        propose({request_.op, ways_.ranks(), pieces, {}}, "");
      }
    }
    return std::move(found_);
  }

 private:
  std::vector<int> numbers_of_pieces() const {
    if (request_.pieces > 0) { return {request_.pieces}; }
    constexpr int kMost = 256;  // of all ranks together
    switch (request_.op) {
      case CollectiveOp::broadcast:
      case CollectiveOp::reduce: return {1, 8, 32, 128};
      case CollectiveOp::all_to_all: return {1, 2, 4};
      default: break;
    }
    std::vector<int> numbers{1, 2, 4, 6, 8, 12, 16};
    std::erase_if(numbers, [&](int k) { return k > 1 && k * ways_.ranks() > kMost; });
    return numbers;
  }

  void all_reduces(int pieces) {
    Work work{CollectiveOp::all_reduce, ways_.ranks(), pieces, {}};
    for (int r = 0; r < ways_.ranks(); ++r) {
      work.owners.insert(work.owners.end(), index(pieces), r);
    }
    const std::vector<int> even = work.owners;
    propose(work, "");
    work.owners = balanced_owners(ways_, pieces);
    if (!work.owners.empty() && work.owners != even) { propose(work, "uneven parts, "); }
    work.owners.assign(index(pieces), centre(ways_));
    propose(work, "by rank " + std::to_string(work.owners[0]) + ", ");
    if (pieces <= 2) { exchange(pieces); }
  }

  /// Of latency: everybody's buffer goes everywhere.
  void exchange(int pieces) {
    std::vector<Demand> demands;
    const double chunk = to_double(request_.payload) / pieces;
    demands.reserve(index(ways_.ranks() * pieces));
    for (int i = 0; i < ways_.ranks() * pieces; ++i) { demands.push_back({i / pieces, -1, chunk}); }
    const auto routes = find_routes(ways_, demands, kTastes[0].taste, request_.rotations);
    enter("exchange of whole buffers", pieces, compose_exchange(ways_.ranks(), pieces, routes));
  }

  void propose(const Work& work, const std::string& by) {
    const std::vector<Demand> demands = demands_of(work, to_double(request_.payload));
    const bool both = work.op == CollectiveOp::all_reduce;
    std::vector<std::vector<Route>> seen;
    for (const auto& [name, taste] : kTastes) {
      std::vector<Route> in, out;
      if (both || inwards(work.op)) {
        in = find_routes(turned_, demands, taste, request_.rotations);
      }
      if (both || !inwards(work.op)) {
        out = find_routes(ways_, demands, taste, request_.rotations);
      }
      std::vector<Route> routes = in;
      routes.insert(routes.end(), out.begin(), out.end());
      if (std::ranges::find(seen, routes) != seen.end()) { continue; }
      seen.push_back(std::move(routes));
      enter(by + std::string(name), work.pieces, compose(work, in, out));
    }
  }

  void enter(const std::string& how, int pieces, const CollectiveProgram& program) {
    const double chunk = to_double(request_.payload) / program.chunks;
    found_.push_back({"synthesised, " + how + ", " + std::to_string(pieces) +
                          (pieces == 1 ? " piece" : " pieces"),
                      merged(ordered(program, ways_, chunk))});
  }

  const SynthesisRequest& request_;
  const Ways& ways_;
  Ways turned_;
  std::vector<MadeProgram> found_;
};

}  // namespace

std::vector<LibraryProgram> library_programs(const SynthesisRequest& request, const Ways& ways,
                                             Router& router) {
  std::vector<LibraryProgram> found;
  for (const std::string_view name : collective_algorithms(request.op)) {
    try {
      auto program = program_on(request.op, name, request.devices, request.payload, router);
      if (!program || !keeps_to(ways, *program)) { continue; }
      CollectivePlan plan =
          plan_collective(request.op, name, request.devices, request.payload, router);
      found.push_back(
          {std::string(name), std::move(plan.protocol), plan.costs, *std::move(program)});
    } catch (const std::invalid_argument&) {
    } catch (const Unreachable&) {}
  }
  return found;
}

std::vector<MadeProgram> made_programs(const SynthesisRequest& request, const Ways& ways) {
  return Maker(request, ways).all();
}

}  // namespace tsim::cost::synthesis
