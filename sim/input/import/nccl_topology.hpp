// NCCL's (and RCCL's) topology XML: NCCL_TOPO_FILE, NCCL_TOPO_DUMP_FILE.
#pragma once

#include "sim/input/import/imported.hpp"
#include "sim/input/import/xml_document.hpp"

namespace tsim::sim {

/// The node that a `<system>` describes: every cpu element is a NUMA node with a host bridge, every
/// PCI bridge a switch. What is missing is filled as NCCL fills it: link_speed 8 GT/s and
/// link_width 16 for empty ones, 10 Gb/s for a net without speed. Entries with neither class nor
/// content (static files that name bus numbers only) are taken for GPUs, as many in every cpu
/// element; the rest for NICs. With problems, the result is not to be used.
ImportedCluster read_nccl_topology(const XmlElement& system, const ImportOptions& options,
                                   Problems& problems);

}  // namespace tsim::sim
