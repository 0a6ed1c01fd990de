// MSCCL's XML algorithms, as programs.
#pragma once

#include <optional>
#include <string>

#include "cost/programs/program.hpp"
#include "sim/input/import/xml_document.hpp"

namespace tsim::sim {

/// The program of an `<algo>`: the n-th send of a thread block to a peer over a channel is taken by
/// the n-th receive there. A step waits for what its thread block received or moved before, for the
/// steps it names (depid, deps), and, where it overwrites what the block sent, for those sends.
/// When that makes steps wait for each other in a circle, receives go through a buffer of their
/// own, as MSCCL's do. What a rank adds and passes on without keeping it (rrs) is added in scratch.
/// Problems are told with line and column; whether the program implements its collective is not
/// checked here.
std::optional<cost::CollectiveProgram> read_msccl(const XmlElement& algo, Problems& problems);

/// The XML of a program: a thread block for each connection's two ends, and one for moves inside a
/// rank; dependencies on more than one step by `nop` steps. `protocol`: "Simple", "LL" or "LL128".
/// Throws std::invalid_argument when XML cannot say it: a collective that MSCCL does not have, a
/// dependency between steps that share no rank, a circle of dependencies.
std::string to_msccl(const cost::CollectiveProgram& program, std::string_view protocol = "Simple");

}  // namespace tsim::sim
