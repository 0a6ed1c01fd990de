#include <algorithm>
#include <numeric>
#include <ostream>

#include <nlohmann/json.hpp>

#include "sim/cli/commands.hpp"
#include "sim/cli/format.hpp"
#include "sim/cli/text_table.hpp"
#include "sim/input/read_cluster.hpp"
#include "sim/input/read_scenario.hpp"
#include "sim/jobs.hpp"
#include "sim/net/net_lists.hpp"

namespace tsim::cli {
namespace {

constexpr std::size_t kMeetingsShown = 10;

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

/// "0-7, 12".
std::string ranges(std::vector<int> devices) {
  std::string text;
  for (std::size_t i = 0; i < devices.size();) {
    std::size_t last = i;
    while (last + 1 < devices.size() && devices[last + 1] == devices[last] + 1) { ++last; }
    text += (text.empty() ? "" : ", ") + std::to_string(devices[i]);
    if (last > i) { text += "-" + std::to_string(devices[last]); }
    i = last + 1;
  }
  return text;
}

double slowdown(const sim::JobTimes& times) {
  return times.alone.value > 0 ? times.beside.value / times.alone.value - 1 : 0;
}

void print_jobs_text(const cost::Cluster& cluster, const std::vector<sim::Job>& jobs,
                     const sim::JobsReport& report, std::ostream& out) {
  out << jobs.size() << " jobs on " << device_count(cluster) << " devices of " << cluster.name
      << ", one iteration of each, started together\n";
  std::vector<std::vector<std::string>> rows;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const sim::JobTimes& t = report.jobs[j];
    rows.push_back({jobs[j].scenario.name, ranges(jobs[j].devices), format(t.alone),
                    format(t.beside), percent(slowdown(t))});
  }
  print_table(out,
              {{"job"},
               {"devices"},
               {"step alone", Align::right},
               {"step beside", Align::right},
               {"slower by", Align::right}},
              rows);
  if (report.meetings.empty()) {
    out << "\nThey meet on no link.\n";
    return;
  }
  out << "\nLinks on which they meet\n";
  std::vector<Column> columns{{"link"}};
  for (const sim::Job& job : jobs) { columns.push_back({job.scenario.name, Align::right}); }
  columns.push_back({"used", Align::right});
  rows.clear();
  for (std::size_t i = 0; i < std::min(report.meetings.size(), kMeetingsShown); ++i) {
    const sim::Meeting& m = report.meetings[i];
    rows.push_back({m.channel});
    for (const double bytes : m.bytes) {
      rows.back().push_back(format(Bytes{static_cast<std::int64_t>(bytes + 0.5)}));
    }
    rows.back().push_back(percent(m.utilisation));
  }
  print_table(out, columns, rows);
  if (report.meetings.size() > kMeetingsShown) {
    out << "and " << report.meetings.size() - kMeetingsShown << " more\n";
  }
}

void print_jobs_json(const std::vector<sim::Job>& jobs, const sim::JobsReport& report,
                     std::ostream& out) {
  nlohmann::ordered_json json{{"jobs", nlohmann::ordered_json::array()},
                              {"meetings", nlohmann::ordered_json::array()}};
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const sim::JobTimes& t = report.jobs[j];
    json["jobs"].push_back({{"name", jobs[j].scenario.name},
                            {"devices", jobs[j].devices},
                            {"step_alone_s", t.alone.value},
                            {"step_beside_s", t.beside.value}});
  }
  for (const sim::Meeting& m : report.meetings) {
    json["meetings"].push_back(
        {{"link", m.channel}, {"bytes", m.bytes}, {"utilisation", m.utilisation}});
  }
  out << json.dump(2) << '\n';
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
