// How close two cards of a node are, in the words of `nvidia-smi topo -m`.
#pragma once

#include <string>
#include <vector>

#include "cost/topology.hpp"

namespace tsim::cost {

/// What the way between two cards crosses, closest first. `pix`: at most one PCIe switch; `pxb`:
/// several; `phb`: a host bridge; `node`: several host bridges of one socket; `sys`: the link
/// between sockets; `none`: no such way.
enum class Near : std::uint8_t { self, nvlink, pix, pxb, phb, node, sys, none };

struct Nearness {
  Near near = Near::none;
  int lanes = 0;  // of an NVLink
  bool operator==(const Nearness&) const = default;
};

/// "X", "NV12", "PIX", ..., "-" where there is no way.
std::string text_of(const Nearness& nearness);

/// Cards of a node in the order of their numbers: its devices, then its NICs, then its drives.
std::vector<VertexId> cards_of_node(const Topology& topology, std::int32_t node);

/// By row and column of `cards`, which are of one node. NVLinks count when they join two devices
/// themselves or by one switch; else the way through the PCIe tree with the fewest hops does.
std::vector<std::vector<Nearness>> nearness_matrix(const Topology& topology,
                                                   const std::vector<VertexId>& cards);

/// The socket that a card's PCIe tree hangs from: the cpu's vertex, -1 when none is known or
/// several are equally near.
VertexId socket_of(const Topology& topology, VertexId card);

}  // namespace tsim::cost
