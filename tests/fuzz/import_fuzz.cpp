// Whatever the text, an importer gives something that can be built, or problems: no crash, no
// assert, no hang. SimGrid's files are read by SimGrid, in a process of its own, and not here.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "cost/build_cluster.hpp"
#include "sim/input/import/import_program.hpp"
#include "sim/input/import/import_taccl.hpp"
#include "sim/input/import/import_topo.hpp"

namespace {

void must_build(const tsim::sim::ImportedCluster& imported) {
  const auto* design = std::get_if<tsim::cost::ClusterDesign>(&imported.cluster);
  if (design != nullptr && tsim::cost::problems(*design).empty()) { build_cluster(*design); }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  tsim::sim::Problems of_topology, of_program, of_taccl;
  const auto topology = tsim::sim::import_topology(text, {}, of_topology);
  if (of_topology.empty()) { must_build(topology); }
  const auto program = tsim::sim::import_program(text, of_program);
  if (program.has_value() != of_program.empty()) { std::abort(); }
  const auto taccl = tsim::sim::import_taccl({text, "", ""}, {}, of_taccl);
  if (of_taccl.empty()) { must_build(taccl); }
  return 0;
}
