#include <algorithm>
#include <numeric>
#include <ostream>

#include "sim/cli/commands.hpp"
#include "sim/cli/print_jobs.hpp"
#include "sim/input/read_cluster.hpp"
#include "sim/input/read_scenario.hpp"
#include "sim/jobs.hpp"
#include "sim/net/net_lists.hpp"

namespace tsim::cli {
namespace {

/// The devices of each job: as stated, else the next ones.
std::vector<std::vector<int>> placements(const JobsOptions& options,
                                         const std::vector<sim::Job>& jobs, int devices,
                                         sim::Problems& problems) {
  std::vector<std::vector<int>> places;
  if (!options.ranks.empty() && options.ranks.size() != jobs.size()) {
    problems.add({"--ranks", std::to_string(options.ranks.size()) + " lists",
                  "one for each of " + std::to_string(jobs.size()) + " scenarios"});
    return places;
  }
  int next = 0;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    if (!options.ranks.empty()) {
      places.push_back(sim::read_ranks(options.ranks[j], devices, "--ranks", problems));
      continue;
    }
    std::vector<int> place(static_cast<std::size_t>(world_size(jobs[j].scenario.strategy)));
    std::iota(place.begin(), place.end(), next);
    next += static_cast<int>(place.size());
    places.push_back(std::move(place));
  }
  return places;
}

/// Each job has as many devices as ranks, and none is in two jobs or beyond the cluster.
void check_places(const std::vector<sim::Job>& jobs, int devices, sim::Problems& problems) {
  std::vector<int> all;
  for (const sim::Job& job : jobs) {
    const int ranks = world_size(job.scenario.strategy);
    if (static_cast<int>(job.devices.size()) != ranks) {
      problems.add({"--ranks",
                    std::to_string(job.devices.size()) + " devices for " + job.scenario.name,
                    std::to_string(ranks) + ", tensor*pipeline*data of its strategy"});
    }
    all.insert(all.end(), job.devices.begin(), job.devices.end());
  }
  std::ranges::sort(all);
  const auto twice = std::ranges::adjacent_find(all);
  if (twice != all.end()) {
    problems.add(
        {"--ranks", "device " + std::to_string(*twice) + " in two jobs", "each device in one"});
  }
  if (!all.empty() && all.back() >= devices) {
    problems.add({"CLUSTER", std::to_string(devices) + " devices",
                  "at least " + std::to_string(all.back() + 1) + ", for all scenarios"});
  }
}

std::vector<sim::Job> read_jobs(const JobsOptions& options, const cost::Cluster& cluster) {
  std::vector<sim::Job> jobs;
  for (const auto& path : options.scenarios) {
    jobs.push_back({sim::read_scenario_file(path).base, {}});
  }
  sim::Problems problems;
  const int devices = device_count(cluster);
  auto places = placements(options, jobs, devices, problems);
  for (std::size_t j = 0; j < places.size(); ++j) { jobs[j].devices = std::move(places[j]); }
  if (problems.empty()) { check_places(jobs, devices, problems); }
  if (!problems.empty()) { throw sim::InputErrors(options.cluster, problems.errors()); }
  return jobs;
}

}  // namespace

int jobs_command(const JobsOptions& options, std::ostream& out, std::ostream& /*err*/) {
  const cost::Cluster cluster = sim::read_cluster(options.cluster);
  const std::vector<sim::Job> jobs = read_jobs(options, cluster);
  const sim::JobsReport report = run_jobs(cluster, jobs);
  if (options.json) {
    print_jobs_json(jobs, report, out);
  } else {
    print_jobs_text(cluster, jobs, report, out);
  }
  return 0;
}

}  // namespace tsim::cli
