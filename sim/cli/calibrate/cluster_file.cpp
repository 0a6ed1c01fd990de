#include "sim/cli/calibrate/cluster_file.hpp"

#include <ostream>

#include "sim/calibrate/measured_tuning.hpp"
#include "sim/cli/format.hpp"
#include "sim/cli/text_table.hpp"
#include "sim/cli/write_file.hpp"
#include "sim/input/input_error.hpp"
#include "sim/input/read_cluster.hpp"
#include "sim/input/write_cluster.hpp"

namespace tsim::cli {
namespace {

void print_regimes(const calibrate::MeasuredTuning& tuning, std::ostream& out) {
  std::vector<std::vector<std::string>> rows;
  for (const calibrate::TunedRegime& one : tuning.regimes) {
    if (!one.regime.op) { continue; }
    rows.push_back({std::string(name_of(*one.regime.op)), format(one.regime.least),
                    format(one.regime.start), percent(one.regime.share), std::to_string(one.points),
                    percent(one.residual)});
  }
  out << "\nCommunication among " << tuning.ranks << " ranks as the cluster file has it\n";
  print_table(out,
              {{"operation"},
               {"least", Align::right},
               {"start", Align::right},
               {"of the wires", Align::right},
               {"points", Align::right},
               {"rms", Align::right}},
              rows);
  for (const std::string& remark : tuning.remarks) { out << "  left out: " << remark << "\n"; }
}

}  // namespace

void write_cluster_file(const CalibrateOptions& options, const cost::Measured& measured,
                        std::ostream& out) {
  if (options.cluster.empty()) {
    throw sim::InputErrors("tsim calibrate", {{.path = "--cluster-file",
                                               .found = "no --cluster",
                                               .expected = "the cluster whose wires hold"}});
  }
  cost::Cluster cluster = sim::read_cluster(options.cluster);
  const calibrate::MeasuredTuning tuning = calibrate::measured_tuning(measured, cluster);
  if (tuning.regimes.empty()) {
    throw sim::InputErrors(
        "tsim calibrate",
        {{.path = "--cluster-file",
          .found = "no collectives in these files" +
                   std::string(tuning.remarks.empty() ? "" : " that fit the cluster's wires"),
          .expected = "three sizes of one among devices of the cluster"}});
  }
  print_regimes(tuning, out);
  cluster.topology.tuning =
      tuning.tuning("measured", "collectives among " + std::to_string(tuning.ranks) +
                                    " ranks, by tsim calibrate");
  cluster.name = options.cluster_file.stem().string();
  const std::string text = sim::to_json(cluster).dump(2) + "\n";
  write_file(options.cluster_file, [&](std::ostream& file) { file << text; });
  out << "Written to " << options.cluster_file.string() << "\n";
}

}  // namespace tsim::cli
