// Planned times against measured ones. Figures of a tuning are fitted to the rows that it names;
// all other rows are held out, though they were in sight when the figures were chosen. Allowed: 10
// % from 16 MiB on, 25 % below.
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <iomanip>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>

#include "cost/tunings.hpp"
#include "tests/cost/clusters.hpp"
#include "tests/cost/measured_collectives.hpp"

using namespace tsim;
using namespace tsim::cost;
using namespace tsim::cost::testing;

namespace {

constexpr double kMiB = 1024.0 * 1024;

/// Whether a row was used to fit: series, index of the row, bytes.
using Fitted = std::function<bool(const MeasuredSeries&, std::size_t, double)>;

/// Measured series and the cluster that they are predicted on.
struct Case {
  std::string machine;
  std::unique_ptr<Bench> bench;  // its router keeps its address
  std::vector<MeasuredSeries> series;
  Fitted fitted;
};

struct Errors {
  double sum = 0, worst = 0;
  int rows = 0, missed = 0;
  void add(double error, bool miss) {
    sum += std::abs(error);
    worst = std::abs(error) > std::abs(worst) ? error : worst;
    ++rows;
    missed += miss ? 1 : 0;
  }
};

/// Of one series, apart for rows that were used to fit.
struct SeriesErrors {
  Errors fitted, held_out;
};

SeriesErrors errors_of(Case& c, const MeasuredSeries& series) {
  SeriesErrors errors;
  double bytes = series.first;
  for (std::size_t i = 0; i < series.us.size(); ++i, bytes *= series.factor) {
    const Bytes size{static_cast<std::int64_t>(bytes)};
    const CollectivePlan plan = c.bench->plan(series.op, "auto", first_devices(series.gpus), size);
    const double us = 1e6 * time_alone(plan, c.bench->cluster.topology, c.bench->router).value;
    const double error = us / series.us[i] - 1;
    const bool miss = std::abs(error) > (bytes >= 16 * kMiB ? 0.10 : 0.25);
    (c.fitted(series, i, bytes) ? errors.fitted : errors.held_out).add(error, miss);
    if (miss) {
      MESSAGE(c.machine << " " << name_of(series.op) << " on " << series.gpus << ", " << size.value
                        << " bytes: " << us << " us, measured " << series.us[i] << " ("
                        << plan.algorithm << ", " << plan.protocol << ")");
    }
  }
  return errors;
}

/// Rows outside the allowed error, held out or not.
int misses(Case c) {
  int missed = 0;
  for (const MeasuredSeries& series : c.series) {
    const SeriesErrors errors = errors_of(c, series);
    missed += errors.fitted.missed + errors.held_out.missed;
  }
  return missed;
}

ClusterSpec tuned_node(int devices, double gbps, const char* tuning) {
  ClusterSpec spec = nvswitch_node(devices, {gbps * 1e9}, {0.5e-6});
  spec.tuning = *tuning_named(tuning);
  return spec;
}

bool every_second(const MeasuredSeries& /*series*/, std::size_t i, double /*bytes*/) {
  return i % 2 == 0;
}

bool of_two_or_eight(const MeasuredSeries& series, std::size_t /*i*/, double /*bytes*/) {
  return series.gpus == 2 || series.gpus == 8;
}

Case vtrain_a100_case() {
  return {"2 to 8 A100 [1]", std::make_unique<Bench>(tuned_node(8, 300, "nccl-a100-nvswitch")),
          vtrain_a100(), of_two_or_eight};
}

Case superbench_case() {
  return {"8 A100 [2]", std::make_unique<Bench>(tuned_node(8, 300, "nccl-a100-nvswitch")),
          superbench_a100(), [](const MeasuredSeries& s, std::size_t i, double bytes) {
            return s.op == CollectiveOp::all_reduce ? bytes <= kMiB / 2 : i % 2 == 0;
          }};
}

Case h100_node_case() {
  ClusterSpec spec = tuned_node(8, 450, "nccl-h100-nvswitch");
  spec.node.in_switch_reduction = true;
  return {"8 H100 [3]", std::make_unique<Bench>(spec), h100_node(), every_second};
}

std::unique_ptr<Bench> two_h100_nodes(const char* tuning) {
  ClusterSpec spec = tuned_node(8, 450, tuning);
  spec.node.in_switch_reduction = true;
  spec.nodes = 2;
  spec.network = {.nics_per_node = 8, .bandwidth = {50e9}, .latency = {2e-6}, .efficiency = 0.96};
  return std::make_unique<Bench>(spec);
}

Case efa_case() {
  return {"2 x 8 H100, EFA [4]", two_h100_nodes("nccl-h100-efa"), h100_efa(), every_second};
}

Case oci_case() {
  return {"2 x 8 H100, RoCE [5]", two_h100_nodes("nccl-h100-nvswitch"), h100_oci(),
          [](const MeasuredSeries&, std::size_t, double) { return false; }};
}

Case h200_case() {
  return {"2 H200 [6]", std::make_unique<Bench>(tuned_node(2, 450, "nccl-h200-pair")), h200_pair(),
          [](const MeasuredSeries&, std::size_t, double bytes) {
            return bytes <= kMiB / 16 || bytes == 64 * kMiB || bytes == 1024 * kMiB;
          }};
}

Case v100_case() {
  const LinkSpec card{{10e9}, {1e-6}};
  PcieShape shape;
  shape.devices = 8;
  shape.sockets = 2;
  shape.devices_per_switch = 2;
  shape.card = shape.uplink = card;
  shape.socket_link = {{9e9}, {1e-6}};
  ClusterDesign d{
      "test", {Device{}}, {{with_cube_mesh(pcie_design(shape), {{22.55e9}, {0.5e-6}}), 1}}};
  d.tuning = *tuning_named("nccl-v100-cube-mesh");
  return {"2 to 8 V100, cube mesh [1]", std::make_unique<Bench>(d), vtrain_v100(), of_two_or_eight};
}

/// "11: 3.2 %, +7.1 %": rows, mean of the absolute errors, worst error.
std::string cell(const Errors& e) {
  if (e.rows == 0) { return "none"; }
  std::ostringstream text;
  text << e.rows << ": " << std::fixed << std::setprecision(1) << 100 * e.sum / e.rows << " %, "
       << std::showpos << 100 * e.worst << " %";
  return text.str();
}

std::string table_of_errors() {
  std::ostringstream table;
  table << "| machine | operation | ranks | fitted rows | held-out rows | outside |\n"
           "|---|---|---|---|---|---|\n";
  for (Case (*make)() : {superbench_case, vtrain_a100_case, h100_node_case, efa_case, oci_case,
                         h200_case, v100_case}) {
    Case c = make();
    for (const MeasuredSeries& series : c.series) {
      const SeriesErrors e = errors_of(c, series);
      table << "| " << c.machine << " | " << name_of(series.op) << " | " << series.gpus << " | "
            << cell(e.fitted) << " | " << cell(e.held_out) << " | "
            << e.fitted.missed + e.held_out.missed << " |\n";
    }
  }
  return table.str();
}

}  // namespace

TEST_CASE("all-reduces on two to eight A100 take the times measured") {
  CHECK(misses(vtrain_a100_case()) == 0);
}

TEST_CASE("collectives on eight A100 take the times of another machine's log") {
  CHECK(misses(superbench_case()) == 0);
}

// Two rows do not show the network: 32 bytes in 68.14 us and 4 KiB in 23.59 us out of place, where
// the same run took 13.52 and 16.46 us in place.
TEST_CASE("all-reduces on eight H100 whose switch adds take the times measured") {
  CHECK(misses(h100_node_case()) == 2);
}

TEST_CASE("all-reduces on two nodes of eight H100 take the times measured") {
  CHECK(misses(efa_case()) == 0);
  CHECK(misses(oci_case()) == 0);
}

TEST_CASE("collectives on two H200 take the times measured") { CHECK(misses(h200_case()) == 0); }

TEST_CASE("all-reduces on two to eight V100 in a cube mesh take the times measured") {
  CHECK(misses(v100_case()) == 0);
}

TEST_CASE("the documented table of errors is what comes out") {
  std::ifstream file(TSIM_SOURCE_DIR "/docs/network.md");
  const std::string document{std::istreambuf_iterator<char>(file), {}};
  const std::string table = table_of_errors();
  INFO("expected in docs/network.md:\n", table);
  CHECK(document.find(table) != std::string::npos);
}

// Published ceilings, GB/s of bus bandwidth; sources on the rows.
TEST_CASE("published bus bandwidths of large all-reduces are met") {
  ClusterSpec h100 = tuned_node(8, 450, "nccl-h100-nvswitch");
  h100.node.in_switch_reduction = true;
  Bench node(h100);
  struct Row {
    int gpus;
    double gbps;
  };
  // NVIDIA/nccl issue 1455: 2 to 8 of one node's GPUs, in-switch reduction where it pays.
  for (const Row& row : {Row{2, 367.5}, {4, 367.5}, {5, 420}, {6, 440}, {7, 460}, {8, 480}}) {
    CAPTURE(row.gpus);
    CHECK(node.all_reduce_busbw("auto", first_devices(row.gpus), Bytes{4LL << 30}) ==
          doctest::Approx(row.gbps * 1e9).epsilon(0.05));
  }
  // NVIDIA/nccl-tests issue 212: 365-370 GB/s for any number of GPUs without it.
  for (const int gpus : {2, 3, 5, 8}) {
    CHECK(node.all_reduce_busbw("ring", first_devices(gpus), Bytes{4LL << 30}) ==
          doctest::Approx(367.5e9).epsilon(0.02));
  }
}

// NVIDIA/nccl-tests issue 119: three nodes of 8 A100 with four 200 Gb/s NICs, 96 GB/s at most.
TEST_CASE("three nodes of A100 are bound by their NICs") {
  ClusterSpec spec = tuned_node(8, 300, "nccl-a100-nvswitch");
  spec.nodes = 3;
  spec.network = {.nics_per_node = 4, .bandwidth = {25e9}, .latency = {2e-6}, .efficiency = 0.96};
  Bench b(spec);
  CHECK(b.all_reduce_busbw("ring", first_devices(24), Bytes{1LL << 30}) ==
        doctest::Approx(96e9).epsilon(0.10));
}

// NVIDIA/nccl issue 652: 32 nodes of 8 A100, 8 to 128 bytes in 62.9 to 65.5 us.
TEST_CASE("256 A100 take the measured time for a few bytes") {
  ClusterSpec spec = tuned_node(8, 300, "nccl-a100-nvswitch");
  spec.nodes = 32;
  spec.network = {.nics_per_node = 4, .bandwidth = {25e9}, .latency = {1e-6}, .efficiency = 0.96};
  Bench b(spec);
  for (const double bytes : {8.0, 128.0}) {
    const double us = 1e6 * b.seconds(CollectiveOp::all_reduce, "auto", first_devices(256),
                                      Bytes{static_cast<std::int64_t>(bytes)});
    CHECK(us == doctest::Approx(63.5).epsilon(0.25));
  }
}
