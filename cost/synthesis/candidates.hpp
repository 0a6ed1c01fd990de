// Programs among which the fastest is looked for.
#pragma once

#include <vector>

#include "cost/synthesis/synthesise.hpp"

namespace tsim::cost::synthesis {

struct LibraryProgram {
  std::string name;
  std::string protocol;
  StepCosts costs{};
  CollectiveProgram program;
};

/// The library's programs over these devices that keep to the request's links, each in the regime
/// that suits it best.
std::vector<LibraryProgram> library_programs(const SynthesisRequest& request, const Ways& ways,
                                             Router& router);

struct MadeProgram {
  std::string name;
  CollectiveProgram program;
};

/// Programs made for these wires.
std::vector<MadeProgram> made_programs(const SynthesisRequest& request, const Ways& ways);

}  // namespace tsim::cost::synthesis
