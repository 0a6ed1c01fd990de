// How the cluster's communication library moves bytes.
#pragma once

#include "cost/tuning.hpp"
#include "sim/input/json_reader.hpp"

namespace tsim::sim {

/// The tuning at `place`: the name of a measured one, or an object with its regimes. Nothing is the
/// wires' own figures.
cost::Tuning read_tuning(const Place& place);

}  // namespace tsim::sim
