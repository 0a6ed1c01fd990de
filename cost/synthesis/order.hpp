// In which order the steps of a program go over the wires, and which of them go together.
#pragma once

#include "cost/programs/program.hpp"
#include "cost/synthesis/ways.hpp"

namespace tsim::cost::synthesis {

/// The same steps in the order in which they start when each channel carries one after the other:
/// whenever a channel is free, of the steps that could use it the one with the longest way still
/// before it.   [list scheduling; Shah et al., "TACCL", arXiv:2111.04867, sec. 4.2]
/// `chunk`: bytes of a chunk.
CollectiveProgram ordered(const CollectiveProgram& program, const Ways& ways, double chunk);

/// Neighbouring chunks that go over one connection one after the other become one step, if the
/// later one waits for nothing that the earlier one goes before, and nobody but the collective's
/// end waits for either, or all that waits for one waits for both.   [ibid., sec. 4.3]
CollectiveProgram merged(const CollectiveProgram& program);

}  // namespace tsim::cost::synthesis
