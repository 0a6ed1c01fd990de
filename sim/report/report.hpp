// The answer to a scenario: figures only, no formatting.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "sim/memory_trace.hpp"
#include "sim/report/lookups.hpp"
#include "sim/simulation.hpp"

namespace tsim::sim {

/// One rank's step: busy + exposed communication + idle = step time.
struct RankTimes {
  Seconds busy;           // computing
  Seconds exposed;        // not computing while one of its communications runs
  Seconds idle;           // neither: waiting for others
  Seconds communication;  // union of its communications, hidden ones included
};

/// What one node holds outside its devices' memory.
struct HostReport {
  int node = 0;
  Bytes parameters, gradients, optimizer, activations;
  Bytes drives;    // on its drives
  Bytes capacity;  // of its memory; 0: not known
  bool fits = true;
};
Bytes total(const HostReport& host);  // of its memory

struct StageReport {
  int stage = 0;
  int first_rank = 0;  // global rank of the simulated rank that is heaviest in memory
  int layers = 0;
  std::string contents;            // "embedding, layers 0-2"
  RankTimes times;                 // of the stage's rank that ends last
  MemoryByClass peak{};            // at the rank's peak instant
  std::int64_t parameters = 0;     // of a rank
  std::int64_t trained = 0;        // of these
  int fully = 0, selectively = 0;  // layers that recompute
  int in_flight = 0;               // most micro-batches (of one chunk) held at once
};

/// Share of the critical path by what runs on it.
struct PathRow {
  std::string what;  // "forward", "tensor-parallel all-reduce", ...
  Seconds time;
};

struct ChannelLoad {
  std::string name;
  Bytes moved;
  double utilisation = 0;  // bytes / (bandwidth x step time)
};

struct CommRow {
  std::string label;  // of the communication, stages apart
  std::string algorithm;
  int ranks = 0;
  Bytes payload;
  std::int64_t count = 0;  // times it runs on the simulated ranks
  Seconds each;            // mean duration
};

inline constexpr std::size_t kLinkKinds = static_cast<std::size_t>(cost::LinkKind::other) + 1;

/// What one kind of group (tensor, data, pipeline ...) sends in a step, all ranks together, and how
/// much of it crosses links of each kind. A message that crosses several kinds counts for each.
struct TrafficRow {
  std::string group;  // "tp"
  double sent = 0;    // bytes
  std::array<double, kLinkKinds> crossing{};
};

/// The devices of one kind, and the fullest of them.
struct KindReport {
  std::string device;
  int devices = 0;  // that ranks sit on
  int rank = 0;     // of the fullest simulated one
  int stage = 0;
  MemoryByClass peak{};  // at its peak instant
  Bytes allowance;       // set aside for fragmentation
  Bytes needed;          // peak with the allowance
  Bytes capacity;
  bool fits = true;
};

/// Bytes of a trained parameter before any sharding, mean over a stage.
struct ParameterBytes {
  double weights = 0, gradients = 0, optimizer = 0;
};

/// The rank whose slowness costs most computing time, and what the others do meanwhile.
struct Straggler {
  int rank = 0;        // global
  std::string device;  // where it sits: "node0/gpu3"
  double slowdown = 1.0;
  Seconds added;                   // to its computing
  Seconds others_idle, most_idle;  // mean over the other ranks, and the most of them
};

struct Report {
  std::string title;
  int devices = 0;
  std::string device;
  Seconds step;
  double samples_per_second = 0;
  double tokens_per_second = 0;
  Flops model_flops;     // of one iteration, whole cluster, papers' count
  Flops hardware_flops;  // the same, recomputation included, masked attention excluded
  double model_tflops_per_device = 0;
  double mfu = 0, hfu = 0;  // shares of the devices' dense peaks of the compute format
  bool has_peak = false;
  double bubble_fraction = 0;  // mean over ranks of idle / step
  double exposed_fraction = 0;
  double busy_fraction = 0;
  std::vector<StageReport> stages;
  std::vector<PathRow> critical_path;  // largest first; adds up to `step`
  std::vector<ChannelLoad> busiest;    // the five most used
  std::vector<CommRow> communications;
  std::vector<TrafficRow> traffic;  // groups that send something
  std::vector<KindReport> kinds;    // in the cluster's order
  std::size_t tightest = 0;         // of `kinds`: it fills most of its memory; the figures below
  std::size_t heaviest_stage = 0;
  Bytes needed;     // the heaviest rank's peak with the allowance
  Bytes allowance;  // of that, set aside for fragmentation
  Bytes capacity;
  bool fits = true;                               // all kinds do
  std::vector<std::string> hints;                 // what would help if it does not fit
  std::vector<std::int64_t> slice_tokens;         // of a sample cut into slices; empty: it is whole
  bool adapters = false;                          // are all that is trained
  std::optional<ParameterBytes> parameter_bytes;  // of the heaviest stage; none without training
  std::optional<AsyncReport> async;    // of workers with parameter servers: `step` is then the time
                                       // of all their iterations, throughput the steady state's
  std::optional<Straggler> straggler;  // none when no rank is slow
  std::optional<HostReport> host;      // the fullest, when something is offloaded to hosts
  std::optional<Seconds> closed_form;  // none when the schedule has no formula
  std::vector<Lookup> lookups;         // kernels, longest first; none when nothing was measured
  std::size_t tasks = 0;
  std::size_t simulated_ranks = 0;
};

Report summarise(const Scenario& scenario, const Simulation& simulation);

}  // namespace tsim::sim
