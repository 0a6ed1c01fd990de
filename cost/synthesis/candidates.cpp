#include "cost/synthesis/candidates.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>

#include "cost/collectives.hpp"
#include "cost/programs/lay_out.hpp"
#include "cost/synthesis/compose.hpp"
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

/// Everybody's whole buffer goes to everybody, who adds.
CollectiveProgram one_shot(int n) {
  ProgramBuilder builder("one_shot", CollectiveOp::all_reduce, n, 1);
  builder.keep_input();
  for (int shift = 0; shift < n; ++shift) {
    for (int from = 0; from < n; ++from) {
      Step step{.from = from, .to = (from + shift) % n};
      step.source_buffer = Buffer::input;
      step.reduce = shift > 0;
      builder.add(step);
    }
  }
  return std::move(builder).finish();
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

class Maker {
 public:
  Maker(const SynthesisRequest& request, const Ways& ways)
      : request_(request), ways_(ways), turned_(ways.reversed()) {}

  std::vector<MadeProgram> all() {
    const bool rooted =
        request_.op == CollectiveOp::broadcast || request_.op == CollectiveOp::reduce;
    for (const int pieces : numbers_of_pieces(rooted)) {
      Work work{request_.op, ways_.ranks(), pieces, {}};
      if (request_.op != CollectiveOp::all_reduce) {
        propose(work, "");
        continue;
      }
      for (int r = 0; r < ways_.ranks(); ++r) {
        work.owners.insert(work.owners.end(), index(pieces), r);
      }
      propose(work, "");
      work.owners.assign(index(pieces), centre(ways_));
      propose(work, "by rank " + std::to_string(work.owners[0]) + ", ");
    }
    if (request_.op == CollectiveOp::all_reduce) {
      CollectiveProgram program = one_shot(ways_.ranks());
      if (keeps_to(ways_, program)) {
        found_.push_back({"synthesised, all to all at once", std::move(program)});
      }
    }
    return std::move(found_);
  }

 private:
  std::vector<int> numbers_of_pieces(bool rooted) const {
    if (request_.pieces > 0) { return {request_.pieces}; }
    if (rooted) { return {1, 8, 32, 128}; }
    if (request_.op == CollectiveOp::all_to_all) { return {1, 2}; }
    return {1, 2, 4, 8};
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
      const double chunk = to_double(request_.payload) / chunks_of(work);
      found_.push_back({"synthesised, " + by + std::string(name) + ", " +
                            std::to_string(work.pieces) + (work.pieces == 1 ? " piece" : " pieces"),
                        merged(ordered(compose(work, in, out), ways_, chunk))});
    }
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
