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

/// Neighbouring chunks that go over one connection one after the other become one step where that
/// keeps nothing waiting: the later one waits for nothing but what the earlier one waits for, and
/// the same steps wait for both. Latencies of one connection overlap, so that there is nothing to
/// win by joining more.   [contiguity: ibid., sec. 4.3]
CollectiveProgram merged(const CollectiveProgram& program);

}  // namespace tsim::cost::synthesis
