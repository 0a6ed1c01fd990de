// `import program`: a collective's program from a file, checked.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cost/programs/program.hpp"
#include "sim/input/import/xml_document.hpp"
#include "sim/input/input_error.hpp"

namespace tsim::sim {

struct ImportedProgram {
  std::string format;  // "MSCCL XML"
  cost::CollectiveProgram program;
};

/// The program in `text`: MSCCL XML, the rings of an NCCL graph file, or JSON. A program that does
/// not implement its collective is a problem that names the first wrong chunk.
std::optional<ImportedProgram> import_program(std::string_view text, Problems& problems);

/// All-reduce over the rings (pattern 4) that NCCL found on a node, side by side.
std::optional<cost::CollectiveProgram> read_nccl_graph(const XmlElement& graphs,
                                                       Problems& problems);

}  // namespace tsim::sim
