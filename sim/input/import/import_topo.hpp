// `import topo`: one node from the output of a vendor's tool, whatever it is.
#pragma once

#include <string_view>

#include "sim/input/import/imported.hpp"
#include "sim/input/input_error.hpp"

namespace tsim::sim {

/// The cluster that `text` describes; its format is recognised by its content. With problems, the
/// result is not to be used.
ImportedCluster import_topology(std::string_view text, const ImportOptions& options,
                                Problems& problems);

}  // namespace tsim::sim
