// `import taccl`: profiled topologies of the TACCL synthesiser, as its sketches restrict them.
#pragma once

#include <string_view>

#include "sim/input/import/imported.hpp"
#include "sim/input/input_error.hpp"

namespace tsim::sim {

/// A topology and, with its own file name for messages, a sketch (empty: none).
struct TacclFiles {
  std::string_view topology;
  std::string_view sketch;
  std::string sketch_file;
};

/// The cluster of a TACCL topology: alphas are latencies in us, betas inverse rates in us/MB. Links
/// are those of the file's matrices; where it has none, two betas for 8 GPUs are an NDv2's cube
/// mesh (the first for pairs with two NVLinks), one beta is a switch. A sketch states the number of
/// nodes, groups of GPUs on a switch, and which GPUs have the NICs; other GPUs then reach other
/// nodes only by way of these. With problems, the result is not to be used.
///   [Shah et al., TACCL, NSDI 2023; github.com/microsoft/taccl, taccl/topologies]
ImportedCluster import_taccl(const TacclFiles& files, const ImportOptions& options,
                             Problems& problems);

}  // namespace tsim::sim
