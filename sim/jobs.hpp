// Several jobs on one cluster: one iteration of each, started together.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/scenario.hpp"

namespace tsim::sim {

/// A scenario, rank r of which sits on devices[r] of the shared cluster, whose wires and kind of
/// device it gets. As many devices as the strategy has ranks; no device in two jobs.
struct Job {
  Scenario scenario;
  std::vector<int> devices;
};

struct JobTimes {
  Seconds alone, beside;  // of the iteration, with the cluster to itself and beside the others
};

/// A channel that more than one job uses.
struct Meeting {
  std::string channel;
  std::vector<double> bytes;  // by job, of one iteration
  double utilisation = 0;     // while all of them ran
};

struct JobsReport {
  std::vector<JobTimes> jobs;
  std::vector<Meeting> meetings;  // the most used first
};

/// Symmetric ranks are not folded: another job may tell them apart. Throws Stuck.
JobsReport run_jobs(const cost::Cluster& cluster, std::span<const Job> jobs);

}  // namespace tsim::sim
