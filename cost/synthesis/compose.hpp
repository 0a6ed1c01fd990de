// Programs made of routes.
#pragma once

#include <span>
#include <vector>

#include "cost/programs/program.hpp"
#include "cost/synthesis/routes.hpp"

namespace tsim::cost::synthesis {

/// What a collective asks of the wires: its demands, of rank r's j-th piece in the order of the
/// chunks. `pieces`: into how many a rank's part is cut (for a broadcast or reduce the buffer); for
/// an all-reduce `owners` says by chunk where it is added up.
struct Work {
  CollectiveOp op{};
  int ranks = 1;
  int pieces = 1;
  std::vector<int> owners;
};

int chunks_of(const Work& work);
std::vector<Demand> demands_of(const Work& work, double payload);

/// Whether the routes of an operation lead to the demand's root: they are then found over reversed
/// ways. An all-reduce has both kinds.
bool inwards(CollectiveOp op);

/// The program whose chunks take these routes. For an all-reduce, those towards the owners are
/// `routes_in`, those back `routes`; the others have one of both only.
CollectiveProgram compose(const Work& work, std::span<const Route> routes_in,
                          std::span<const Route> routes);

/// All-reduce in which everybody's whole buffer goes to everybody, who adds: `routes` of demands
/// {rank, -1}, `pieces` of each rank after the other.
CollectiveProgram compose_exchange(int ranks, int pieces, std::span<const Route> routes);

}  // namespace tsim::cost::synthesis
