// The cheapest tree away from a root.
#pragma once

#include <span>
#include <vector>

namespace tsim::cost::synthesis {

/// Parents, by vertex, in the tree of arcs away from `root` that costs least in all; -1 for the
/// root. `costs[from * n + to]` >= 0, infinite where there is no arc; the root must reach all.
///   [Chu & Liu, Scientia Sinica 14, 1965; Edmonds, J. Res. NBS 71B, 1967]
std::vector<int> cheapest_tree(int n, std::span<const double> costs, int root);

}  // namespace tsim::cost::synthesis
