#include <array>
#include <memory>

#include "sim/cli/options/commands.hpp"
#include "sim/input/quantity.hpp"

namespace tsim::cli {
namespace {

constexpr std::array kKinds{ImportKind::topo, ImportKind::simgrid, ImportKind::taccl,
                            ImportKind::program};

std::vector<std::string_view> kind_names() {
  std::vector<std::string_view> names;
  names.reserve(kKinds.size());
  for (const ImportKind kind : kKinds) { names.push_back(name_of(kind)); }
  return names;
}

/// The value has to be a rate with its unit.
CLI::Validator rate() {
  return {[](const std::string& text) {
            const auto parsed = sim::parse_quantity(text, sim::Dimension::rate);
            const bool fits = parsed.value && *parsed.value > 0 &&
                              *parsed.value <= sim::largest(sim::Dimension::rate);
            return fits ? std::string()
                        : "found \"" + text + "\", expected " +
                              sim::expected_quantity(sim::Dimension::rate);
          },
          ""};
}

}  // namespace

std::string_view name_of(ImportKind kind) {
  constexpr std::array<std::string_view, 4> kNames{"topo", "simgrid", "taccl", "program"};
  return kNames[static_cast<std::size_t>(kind)];
}

Added add_import(CLI::App& app) {
  struct Found {
    ImportOptions options;
    std::string kind;
  };
  const auto found = std::make_shared<Found>();
  ImportOptions& options = found->options;
  CLI::App& import = *app.add_subcommand(
      "import", "Make a cluster or a collective's program of another tool's file");
  import.add_option("KIND", found->kind, "topo, simgrid, taccl or program (docs/import.md)")
      ->required()
      ->check(one_of(kind_names()))
      ->option_text(" ");
  import.add_option("FILE", options.file, "The file")->required()->option_text(" ");
  import.add_option("--out", options.out, "Write the cluster or program as JSON")
      ->type_name("FILE");
  import.add_option("--sketch", options.sketch, "taccl: the sketch that restricts the topology")
      ->type_name("FILE");
  import.add_option("--msccl", options.msccl, "program: write it as MSCCL XML")->type_name("FILE");
  import
      .add_option("--device", options.device, "The devices (tsim devices); else they are guessed")
      ->type_name("NAME");
  import.add_option("--nodes", options.nodes, "topo, taccl: that many nodes of the kind (1)")
      ->check(count_from(1))
      ->type_name("COUNT");
  import.add_option("--pcie", options.pcie, "Generation of PCIe links without a speed")
      ->check(CLI::Range(1, 7).description(""))
      ->type_name("COUNT");
  import.add_option("--nvlink", options.nvlink, "Rate of one NVLink, per direction")
      ->check(rate())
      ->type_name("RATE");
  import.add_option("--nic", options.nic, "Rate of NICs without a speed")
      ->check(rate())
      ->type_name("RATE");
  import.footer("Example:\n  tsim import topo topo.txt --device a100-sxm-80g --out node.json");
  return {&import, [found] {
            ImportOptions result = found->options;
            for (const ImportKind kind : kKinds) {
              if (name_of(kind) == found->kind) { result.kind = kind; }
            }
            return Command{result};
          }};
}

}  // namespace tsim::cli
