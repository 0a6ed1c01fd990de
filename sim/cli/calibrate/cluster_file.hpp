// A cluster file whose communication library is as it was measured.
#pragma once

#include <iosfwd>

#include "cost/measured.hpp"
#include "sim/cli/options.hpp"

namespace tsim::cli {

/// Writes options.cluster_file: the cluster options.cluster with a tuning of the measured
/// collectives, and prints its regimes. Throws sim::InputErrors for a cluster that cannot be read
/// or measurements without collectives.
void write_cluster_file(const CalibrateOptions& options, const cost::Measured& measured,
                        std::ostream& out);

}  // namespace tsim::cli
