#include "sim/input/import/import_topo.hpp"

#include "sim/input/import/nccl_topology.hpp"
#include "sim/input/import/smi_design.hpp"
#include "sim/input/import/xml_document.hpp"

namespace tsim::sim {
namespace {

/// Which command reads an XML file that is no topology.
std::string command_for(const std::string& root) {
  if (root == "platform") { return "tsim import simgrid"; }
  return root == "graphs" || root == "algo" ? "tsim import program" : "";
}

ImportedCluster import_xml(std::string_view text, const ImportOptions& options,
                           Problems& problems) {
  const std::optional<XmlElement> root = parse_xml(text, problems);
  if (!root) { return {}; }
  if (root->name == "system") { return read_nccl_topology(*root, options, problems); }
  const std::string command = command_for(root->name);
  problems.add({.path = root->place,
                .found = "<" + root->name + ">",
                .expected = "<system>, the root of NCCL's topology files",
                .hint = command.empty() ? "" : command + " reads this file"});
  return {};
}

}  // namespace

ImportedCluster import_topology(std::string_view text, const ImportOptions& options,
                                Problems& problems) {
  if (looks_like_xml(text)) { return import_xml(text, options, problems); }
  const std::optional<SmiMatrix> matrix = read_smi_matrix(text, problems);
  return matrix ? cluster_of(*matrix, options, problems) : ImportedCluster{};
}

}  // namespace tsim::sim
