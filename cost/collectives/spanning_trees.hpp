// The trees that tree collectives go up and down.
#pragma once

#include <span>
#include <vector>

#include "cost/topology.hpp"
#include "cost/tuning.hpp"

namespace tsim::cost::collectives {

/// Parents by place among one node's `devices`, the root at place `head` with parent -1; each tree
/// carries an equal part of the bytes. One binary tree where all devices are alike; else a chain
/// for each pair of the node's rings, or one along its backbone.
std::vector<std::vector<int>> local_trees(std::span<const int> devices, int head, Router& router);

/// Parents by rank of all trees of a tree collective, each with an equal part of the bytes: inside
/// a node the double binary tree (its chains where devices are not alike); over several nodes, for
/// each head in turn, the nodes' own trees hung below a double tree of the heads.
std::vector<std::vector<int>> spanning_trees(CollectiveOp op, std::span<const int> devices,
                                             Router& router);

/// Ranks that take turns as heads of their nodes: all that every node has, but one in a rooted
/// collective, whose root is the only head of its node.
std::size_t head_turns(CollectiveOp op, std::span<const std::vector<int>> nodes);

}  // namespace tsim::cost::collectives
