// `import simgrid`: a SimGrid platform file as a cluster.
#pragma once

#include <filesystem>

#include "sim/input/import/imported.hpp"
#include "sim/input/import/simgrid_platform.hpp"
#include "sim/input/input_error.hpp"

namespace tsim::sim {

/// The platform in a file: every host a node with one device, every route the links that SimGrid
/// lists for it. With problems, the result is not to be used.
ImportedCluster import_simgrid(const std::filesystem::path& file, const ImportOptions& options,
                               Problems& problems);

/// The same of a platform that was read. Alike hosts on links of their own are nodes of one design;
/// anything else is a graph with fixed routes.
ImportedCluster cluster_of(const Platform& platform, const ImportOptions& options,
                           Problems& problems);

}  // namespace tsim::sim
