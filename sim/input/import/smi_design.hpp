// The node that a matrix of `nvidia-smi topo -m` describes.
#pragma once

#include "sim/input/import/imported.hpp"
#include "sim/input/import/smi_matrix.hpp"

namespace tsim::sim {

/// Cards in a PCIe tree that gives every pair its class, NVLinks between devices: through a switch
/// where every device is linked to every other by more lanes than it has, else pair by pair. Rates
/// are those of the device's generation unless the options say otherwise. With problems, the result
/// is not to be used.
ImportedCluster cluster_of(const SmiMatrix& matrix, const ImportOptions& options,
                           Problems& problems);

}  // namespace tsim::sim
