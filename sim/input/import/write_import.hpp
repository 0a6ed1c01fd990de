// Imported clusters as files that scenarios name.
#pragma once

#include <string>

#include "sim/input/import/imported.hpp"

namespace tsim::sim {

/// The text of a cluster file. Its description says what the cluster was made of, and what was
/// assumed. `source`: the name of the imported file.
std::string cluster_text(const ImportedCluster& imported, const std::string& source);

}  // namespace tsim::sim
