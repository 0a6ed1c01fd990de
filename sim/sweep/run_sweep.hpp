// A whole search: parts handed out, results kept, the best ones simulated.
#pragma once

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "sim/sweep/outcome.hpp"
#include "sim/sweep/spec.hpp"

namespace tsim::sim {

/// An answer in both tiers.
struct Judged {
  Answer answer;
  bool simulated = false;
  Simulated events;
};

struct SweepReport {
  std::uint64_t size = 0;  // points of the space
  Counts counts;
  std::uint64_t kept = 0;       // points that were done before this run
  std::vector<Judged> answers;  // best first: in the event tier where it was asked, failures last
  double seconds = 0;           // of the analytic tier, in this run
  double event_seconds = 0;
  bool stopped = false;  // by SIGINT
};

struct Progress {
  std::uint64_t points = 0, size = 0;
  double seconds = 0;
  double best = 0;  // first goal, as it is shown; 0: nothing fits yet
  bool events = false;
};

struct SweepRun {
  int jobs = 1;
  std::filesystem::path database;                 // empty: none
  std::string version;                            // of the program, kept there
  std::function<void(const Progress&)> progress;  // after each part
  std::uint64_t part = std::uint64_t{1} << 15U;   // points that are handed out at once; the same
                                                  // for all runs with one database
};

/// Set by a signal handler: no more parts are handed out.
extern volatile std::sig_atomic_t stop_requested;

SweepReport run_sweep(const SweepSpec& spec, const SweepRun& run);

/// One answer in the event tier.
Simulated simulate_answer(const SweepSpec& spec, const Space& space, std::uint64_t point,
                          const Choice& choice);

}  // namespace tsim::sim
