#include "sim/input/import/import_program.hpp"

#include <algorithm>

#include "cost/programs/expand.hpp"
#include "sim/input/import/msccl_xml.hpp"
#include "sim/input/import/program_json.hpp"
#include "sim/input/suggest.hpp"

namespace tsim::sim {
namespace {

std::optional<cost::CollectiveProgram> read_xml(const XmlElement& root, std::string& format,
                                                Problems& problems) {
  if (root.name == "algo") {
    format = "MSCCL XML";
    return read_msccl(root, problems);
  }
  if (root.name == "graphs") {
    format = "NCCL graph XML";
    return read_nccl_graph(root, problems);
  }
  const bool topology = root.name == "system";
  problems.add({.path = root.place,
                .found = "<" + root.name + ">",
                .expected = "<algo> of MSCCL or <graphs> of NCCL",
                .hint = topology ? "tsim import topo reads this file" : ""});
  return std::nullopt;
}

/// The GPUs of a channel, by their numbers.
std::vector<int> ring_of(const XmlElement& channel, Problems& problems) {
  std::vector<int> ring;
  for (const XmlElement& at : channel.children) {
    const XmlAttributes in(at, problems);
    if (at.name == "gpu") { ring.push_back(in.integer("dev")); }
    if (at.name == "net") {
      in.fail("", "a ring that leaves the node", "one that is closed inside it",
              "how nodes are joined is not in such a file");
    }
  }
  return ring;
}

}  // namespace

std::optional<cost::CollectiveProgram> read_nccl_graph(const XmlElement& graphs,
                                                       Problems& problems) {
  constexpr std::string_view kRing = "4";  // NCCL_TOPO_PATTERN_RING
  const auto graph = std::ranges::find_if(graphs.children, [&](const XmlElement& g) {
    return g.name == "graph" && g.text("pattern") == kRing;
  });
  if (graph == graphs.children.end()) {
    problems.add({.path = graphs.place,
                  .found = "no graph of pattern 4",
                  .expected = "the rings that NCCL found"});
    return std::nullopt;
  }
  const std::size_t before = problems.errors().size();
  std::vector<std::vector<int>> rings;
  for (const XmlElement& channel : graph->children) {
    if (channel.name != "channel") { continue; }
    rings.push_back(ring_of(channel, problems));
    std::vector<int> sorted = rings.back();
    std::ranges::sort(sorted);
    bool each_once = sorted.size() == rings[0].size() && !sorted.empty() && sorted.size() <= 1024;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      each_once = each_once && sorted[i] == static_cast<int>(i);
    }
    if (!each_once) {
      problems.add({.path = channel.place,
                    .found = "a channel that is no ring over the GPUs 0, 1, ...",
                    .expected = "each of them once, the same in all channels"});
    }
  }
  if (rings.empty() || rings.size() > 64) {
    problems.add({.path = graph->place,
                  .found = std::to_string(rings.size()) + " channels",
                  .expected = "1 to 64"});
  }
  if (problems.errors().size() != before) { return std::nullopt; }
  cost::CollectiveProgram program = cost::ring_program(cost::CollectiveOp::all_reduce, rings);
  program.name = "nccl_rings";
  return program;
}

std::optional<ImportedProgram> import_program(std::string_view text, Problems& problems) {
  ImportedProgram imported;
  std::optional<cost::CollectiveProgram> program;
  if (looks_like_xml(text)) {
    const std::optional<XmlElement> root = parse_xml(text, problems);
    if (root) { program = read_xml(*root, imported.format, problems); }
  } else {
    imported.format = "JSON";
    const std::optional<Json> document = parse_json(text, "", problems);
    const Source source{.problems = &problems};
    if (document) { program = read_program({&*document, "", &source}); }
  }
  if (!program || !problems.empty()) { return std::nullopt; }
  const std::optional<std::string> wrong = fault(*program);
  if (wrong) {
    problems.add(
        {.found = "a program that is no " + std::string(name_of(program->op)) + ": " + *wrong});
    return std::nullopt;
  }
  imported.program = *std::move(program);
  return imported;
}

}  // namespace tsim::sim
