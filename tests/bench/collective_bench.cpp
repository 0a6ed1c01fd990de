// Speed of collectives on 1,024 and 16,384 devices, building the cluster and routing included.
//   collective_bench [nics-per-node]     NICs of a node of 8: 8 (default), 4, 2 or 1
// ASTRA-sim's analytical back end takes 6 to 11 s for the first case, step by step, on machines of
// this kind [astra-sim/astra-sim, congestion-aware, 1,024-node ring all-reduce of 64 MiB].
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <numeric>

#include "cost/build_cluster.hpp"
#include "cost/collectives.hpp"
#include "cost/programs/expand.hpp"
#include "sim/run_program.hpp"

namespace {

using namespace tsim;
using namespace tsim::literals;

constexpr double kAstraSimSeconds = 6;  // the quicker end of what was seen

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

cost::Cluster cluster_of(int nodes, int nics) {
  cost::ClusterSpec spec;
  spec.nodes = nodes;
  spec.devices_per_node = 8;
  spec.node = {.kind = cost::NodeKind::nvswitch, .bandwidth = 450_GBps, .latency = 1_us};
  spec.network = {.nics_per_node = nics, .bandwidth = 50_GBps, .latency = 5_us};
  return build_cluster(spec);
}

std::vector<int> all_devices(const cost::Cluster& cluster) {
  std::vector<int> devices(static_cast<std::size_t>(device_count(cluster)));
  std::iota(devices.begin(), devices.end(), 0);
  return devices;
}

void aggregated(int nodes, int nics, double allowed) {
  const auto start = std::chrono::steady_clock::now();
  const cost::Cluster cluster = cluster_of(nodes, nics);
  cost::Router router(cluster.topology);
  const auto plan =
      plan_collective(cost::CollectiveOp::all_reduce, "ring", all_devices(cluster), 64_MiB, router);
  const Seconds time = time_alone(plan, cluster.topology, router);
  const double took = seconds_since(start);
  std::printf("%6d devices, aggregated  %8.3f ms simulated  %7.1f ms, %.2f of what is allowed\n",
              nodes * 8, time.value * 1e3, took * 1e3, took / allowed);
}

void print_steps(const char* what, const sim::ProgramTimes& times, double took, double allowed) {
  std::printf(
      "%s %8.3f ms simulated  %7.3f s, %.2f of what is allowed, %.2f M sends/s, ASTRA-sim "
      "takes %.1f times as long\n",
      what, times.last.value * 1e3, took, took / allowed,
      static_cast<double>(times.sends) / took * 1e-6, kAstraSimSeconds / took);
}

/// One ring in the order of the ranks.
void one_ring(int nodes, int nics, double allowed) {
  const auto start = std::chrono::steady_clock::now();
  const cost::Cluster cluster = cluster_of(nodes, nics);
  cost::Router router(cluster.topology);
  const auto program = cost::expand(cost::CollectiveOp::all_reduce, "ring", nodes * 8);
  const sim::ProgramRun run{&program, all_devices(cluster), 64_MiB};
  const auto times = sim::run_programs({&run, 1}, router);
  print_steps("  1024 devices, one ring  ", times, seconds_since(start), allowed);
}

/// As many rings as the planner takes.
void planned_rings(int nodes, int nics, double allowed) {
  const auto start = std::chrono::steady_clock::now();
  const cost::Cluster cluster = cluster_of(nodes, nics);
  cost::Router router(cluster.topology);
  const auto times = sim::run_steps(
      {cost::CollectiveOp::all_reduce, "ring", all_devices(cluster), 64_MiB}, router);
  print_steps("  1024 devices, all rings ", *times, seconds_since(start), allowed);
}

}  // namespace

int main(int argc, char** argv) {
  const int nics = argc > 1 ? std::atoi(argv[1]) : 8;
  aggregated(128, nics, 0.020);
  aggregated(2048, nics, 1.0);
  one_ring(128, nics, 3.0);
  planned_rings(128, nics, 3.0);
}
