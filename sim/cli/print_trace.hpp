// A simulated iteration as a Chrome/Perfetto trace.
#pragma once

#include <iosfwd>

#include "sim/timeline.hpp"
#include "strategies/task_graph.hpp"

namespace tsim::cli {

/// Writes
///  - a process for each rank, "rank 3 (stage 1)", with a thread for each of its streams (and a
///    second one, "pp 2", while two tasks of a stream overlap);
///  - a slice for each task on every rank that takes part in it, with its phase, micro-batch and
///    label as arguments;
///  - an arrow for each message between two ranks, to the computation that needs it;
///  - the memory of each rank over time, by class and in total, in bytes.
/// Events are in order of time; nothing is kept but two orders of the tasks.
/// `timeline` is the replay of `graph`. `ranks` limits the trace to the first ones; 0: all.
void print_trace(const strategies::TaskGraph& graph, const sim::Timeline& timeline, int ranks,
                 std::ostream& out);

}  // namespace tsim::cli
