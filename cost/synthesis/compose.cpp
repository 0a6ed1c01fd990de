#include "cost/synthesis/compose.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace tsim::cost::synthesis {
namespace {

using enum CollectiveOp;

std::size_t index(int i) { return static_cast<std::size_t>(i); }

/// A chunk of one of a rank's buffers.
struct Place {
  Buffer buffer = Buffer::output;
  int chunk = 0;
};

/// Chunks on their way from place to place. Ranks between start and end keep them in scratch space.
class Composer {
 public:
  explicit Composer(const Work& work) : work_(work), scratch_(index(work.ranks), 0) {}

  /// A chunk that has the same place in all ranks goes down a tree.
  void spread(const Route& route, Place place) {
    for (const RouteHop& hop : route) { move(hop.from, hop.to, place, place, false); }
  }

  /// It is added up towards the root of a tree, from the leaves on.
  void collect(const Route& route, Place place) {
    std::for_each(route.rbegin(), route.rend(),
                  [&](const RouteHop& hop) { move(hop.to, hop.from, place, place, true); });
  }

  void carry(const Route& route, Place start, Place end) {
    Place at = start;
    for (std::size_t i = 0; i < route.size(); ++i) {
      const bool last = i + 1 == route.size();
      const Place next = last ? end : Place{Buffer::scratch, scratch_[index(route[i].to)]++};
      move(route[i].from, route[i].to, at, next, false);
      at = next;
    }
  }

  /// Down a tree from its root's input; who hands it on keeps it and adds it, others add it.
  void exchange(const Route& route, int chunk) {
    std::map<int, Place> places{{route.front().from, {Buffer::input, chunk}}};
    std::set<int> relays;
    for (const RouteHop& hop : route) { relays.insert(hop.from); }
    const Place sum{Buffer::output, chunk};
    for (const auto& [from, to] : route) {
      if (!relays.contains(to)) {
        move(from, to, places.at(from), sum, true);
        continue;
      }
      const Place kept{Buffer::scratch, scratch_[index(to)]++};
      move(from, to, places.at(from), kept, false);
      move(to, to, kept, sum, true);
      places[to] = kept;
    }
  }

  void keep(int rank, Place start, Place end) { move(rank, rank, start, end, false); }

  CollectiveProgram program(bool keep_input = false) const {
    const int most = *std::max_element(scratch_.begin(), scratch_.end());
    ProgramBuilder builder("synthesised", work_.op, work_.ranks, chunks_of(work_), most);
    if (keep_input) { builder.keep_input(); }
    for (const Step& step : steps_) { builder.add(step); }
    return std::move(builder).finish();
  }

 private:
  void move(int from, int to, Place source, Place target, bool reduce) {
    Step step{.from = from, .to = to};
    step.source = source.chunk;
    step.target = target.chunk;
    step.source_buffer = source.buffer;
    step.target_buffer = target.buffer;
    step.reduce = reduce;
    steps_.push_back(step);
  }

  const Work& work_;
  std::vector<int> scratch_;
  std::vector<Step> steps_;
};

void compose_paths(const Work& work, std::span<const Demand> demands, std::span<const Route> routes,
                   Composer& composer) {
  const int c = work.pieces;
  for (std::size_t i = 0; i < routes.size(); ++i) {
    const auto [root, target, bytes] = demands[i];
    const int piece = static_cast<int>(i) % c;
    if (work.op == gather) {  // found from the root to the rank that sends
      Route route(routes[i].rbegin(), routes[i].rend());
      for (RouteHop& hop : route) { std::swap(hop.from, hop.to); }
      composer.carry(route, {Buffer::input, piece}, {Buffer::output, target * c + piece});
      continue;
    }
    const int end = work.op == scatter ? piece : root * c + piece;
    composer.carry(routes[i], {Buffer::input, target * c + piece}, {Buffer::output, end});
  }
  for (int r = 0; r < work.ranks && work.op == all_to_all; ++r) {
    for (int k = 0; k < c; ++k) {
      composer.keep(r, {Buffer::input, r * c + k}, {Buffer::output, r * c + k});
    }
  }
}

}  // namespace

int chunks_of(const Work& work) {
  switch (work.op) {
    case all_reduce: return static_cast<int>(work.owners.size());
    case broadcast:
    case reduce: return work.pieces;
    default: return work.ranks * work.pieces;
  }
}

bool inwards(CollectiveOp op) { return op == reduce_scatter || op == reduce || op == gather; }

namespace {

/// From each sender to each other rank.
std::vector<Demand> path_demands(const Work& work, double bytes) {
  std::vector<Demand> demands;
  const int senders = work.op == all_to_all ? work.ranks : 1;
  for (int from = 0; from < senders; ++from) {
    for (int to = 0; to < work.ranks; ++to) {
      if (from == to) { continue; }
      demands.insert(demands.end(), index(work.pieces), {from, to, bytes});
    }
  }
  return demands;
}

}  // namespace

std::vector<Demand> demands_of(const Work& work, double payload) {
  const double bytes = payload / chunks_of(work);
  if (work.op == scatter || work.op == gather || work.op == all_to_all) {
    return path_demands(work, bytes);
  }
  std::vector<Demand> demands;
  demands.reserve(index(chunks_of(work)));
  const bool rooted = work.op == broadcast || work.op == reduce;
  for (int chunk = 0; chunk < chunks_of(work); ++chunk) {
    int root = rooted ? 0 : chunk / work.pieces;
    if (work.op == all_reduce) { root = work.owners[index(chunk)]; }
    demands.push_back({root, -1, bytes});
  }
  return demands;
}

CollectiveProgram compose(const Work& work, std::span<const Route> routes_in,
                          std::span<const Route> routes) {
  Composer composer(work);
  if (work.op == scatter || work.op == gather || work.op == all_to_all) {
    compose_paths(work, demands_of(work, 0), work.op == gather ? routes_in : routes, composer);
    return composer.program();
  }
  const Buffer buffer = work.op == reduce_scatter ? Buffer::input : Buffer::output;
  for (std::size_t i = 0; i < routes_in.size(); ++i) {
    composer.collect(routes_in[i], {buffer, static_cast<int>(i)});
  }
  for (std::size_t i = 0; i < routes.size(); ++i) {
    composer.spread(routes[i], {buffer, static_cast<int>(i)});
  }
  return composer.program();
}

CollectiveProgram compose_exchange(int ranks, int pieces, std::span<const Route> routes) {
  const Work work{all_reduce, ranks, pieces, std::vector<int>(index(pieces), 0)};
  Composer composer(work);
  for (int r = 0; r < ranks; ++r) {
    for (int k = 0; k < pieces; ++k) { composer.keep(r, {Buffer::input, k}, {Buffer::output, k}); }
  }
  for (std::size_t i = 0; i < routes.size(); ++i) {
    composer.exchange(routes[i], static_cast<int>(i) % pieces);
  }
  return composer.program(true);
}

}  // namespace tsim::cost::synthesis
