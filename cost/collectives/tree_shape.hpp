// The two binary trees that halve a collective's bytes between them.
#pragma once

#include <vector>

namespace tsim::cost::collectives {

/// Parents by rank in the first tree (root 0), or in its complement: mirrored for even n, shifted
/// by one for odd n, where mirroring would keep the leaves. The root's parent is -1.  n >= 1.
///   [Sanders, Speck, Traff, Parallel Computing 35, 2009]
std::vector<int> binary_tree(int n, bool complement);

/// Ranks in an order in which each comes after its parent.
std::vector<int> from_root(const std::vector<int>& parent);

}  // namespace tsim::cost::collectives
