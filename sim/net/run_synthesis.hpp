// Programs synthesised for a cluster's wires, judged by running them.
#pragma once

#include <vector>

#include "cost/synthesis/synthesise.hpp"

namespace tsim::sim {

struct SynthesisRun {
  cost::Synthesis synthesis;
  std::vector<double> channel_bytes;  // of the program, by channel of the topology
};

/// cost::synthesise(), every step of every candidate an event. Throws what that throws.
SynthesisRun run_synthesis(const cost::SynthesisRequest& request, cost::Router& router,
                           const cost::Progress& progress = {});

}  // namespace tsim::sim
