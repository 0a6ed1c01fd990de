#include <algorithm>
#include <array>
#include <ostream>

#include "sim/cli/commands.hpp"
#include "sim/cli/write_file.hpp"
#include "sim/input/import/import_program.hpp"
#include "sim/input/import/import_simgrid.hpp"
#include "sim/input/import/import_taccl.hpp"
#include "sim/input/import/import_topo.hpp"
#include "sim/input/import/msccl_xml.hpp"
#include "sim/input/import/program_json.hpp"
#include "sim/input/import/write_import.hpp"
#include "sim/input/quantity.hpp"
#include "sim/input/read_document.hpp"

namespace tsim::cli {
namespace {

/// Throws sim::InputErrors when there are problems.
void settle(const std::filesystem::path& file, const sim::Problems& problems) {
  if (!problems.empty()) { throw sim::InputErrors(file.string(), problems.errors()); }
}

std::string text_of(const std::filesystem::path& file, sim::Problems& problems) {
  std::string why;
  std::optional<std::string> text = sim::file_text(file, why);
  if (!text) { problems.add({.found = why}); }
  settle(file, problems);
  return *std::move(text);
}

void write_text(const std::filesystem::path& path, const std::string& text) {
  if (path.empty()) { return; }
  write_file(path, [&](std::ostream& out) { out << text; });
}

std::optional<BytesPerSecond> rate_of(const std::string& text) {
  if (text.empty()) { return std::nullopt; }
  return BytesPerSecond{*sim::parse_quantity(text, sim::Dimension::rate).value};
}

sim::ImportOptions given(const ImportOptions& options) {
  sim::ImportOptions result;
  result.device = options.device;
  result.nodes = options.nodes;
  if (options.pcie > 0) { result.pcie_generation = options.pcie; }
  result.nvlink_lane = rate_of(options.nvlink);
  result.nic = rate_of(options.nic);
  return result;
}

sim::ImportedCluster imported_cluster(const ImportOptions& options, sim::Problems& problems) {
  const sim::ImportOptions figures = given(options);
  if (options.kind == ImportKind::simgrid) {
    return sim::import_simgrid(options.file, figures, problems);
  }
  const std::string text = text_of(options.file, problems);
  if (options.kind == ImportKind::topo) { return sim::import_topology(text, figures, problems); }
  std::string sketch, why;
  if (!options.sketch.empty()) {
    std::optional<std::string> found = sim::file_text(options.sketch, why);
    if (!found) { problems.add({.found = why, .file = options.sketch.string()}); }
    settle(options.file, problems);
    sketch = *std::move(found);
  }
  return sim::import_taccl({text, sketch, options.sketch.string()}, figures, problems);
}

int import_cluster(const ImportOptions& options, std::ostream& out) {
  sim::Problems problems;
  sim::ImportedCluster imported = imported_cluster(options, problems);
  settle(options.file, problems);
  if (auto* design = std::get_if<cost::ClusterDesign>(&imported.cluster)) {
    for (const std::string& problem : cost::problems(*design)) { problems.add({.found = problem}); }
  }
  settle(options.file, problems);
  std::visit([&](auto& cluster) { cluster.name = options.file.stem().string(); }, imported.cluster);
  write_text(options.out, cluster_text(imported, options.file.filename().string()));
  out << options.file.string() << ": " << imported.format << "\n  " << imported.summary << "\n";
  if (!imported.assumptions.empty()) { out << "Assumed\n"; }
  for (const std::string& assumption : imported.assumptions) { out << "  " << assumption << "\n"; }
  if (!options.out.empty()) { out << "Written to " << options.out.string() << "\n"; }
  return 0;
}

int import_program(const ImportOptions& options, std::ostream& out) {
  sim::Problems problems;
  const std::string text = text_of(options.file, problems);
  const auto imported = sim::import_program(text, problems);
  settle(options.file, problems);
  const cost::CollectiveProgram& program = imported->program;
  write_text(options.out, sim::to_json_text(program));
  if (!options.msccl.empty()) { write_text(options.msccl, sim::to_msccl(program)); }
  const auto transfers =
      std::ranges::count_if(program.steps, [](const cost::Step& s) { return s.from != s.to; });
  out << options.file.string() << ": " << imported->format << ", " << program.name << "\n  "
      << name_of(program.op) << " of " << program.ranks << " ranks, " << program.chunks
      << " chunks, " << (program.in_place ? "in place" : "out of place") << "\n  " << transfers
      << " transfers, " << program.steps.size() - static_cast<std::size_t>(transfers)
      << " moves inside ranks, " << program.after.size() << " dependencies, " << program.scratch
      << " chunks of scratch\n  implements its collective: every chunk arrives, whatever the order"
         " that the dependencies leave open\n";
  for (const auto& path : {options.out, options.msccl}) {
    if (!path.empty()) { out << "Written to " << path.string() << "\n"; }
  }
  return 0;
}

}  // namespace

int import_command(const ImportOptions& options, std::ostream& out, std::ostream&) {
  return options.kind == ImportKind::program ? import_program(options, out)
                                             : import_cluster(options, out);
}

}  // namespace tsim::cli
