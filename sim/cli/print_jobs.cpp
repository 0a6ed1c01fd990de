#include "sim/cli/print_jobs.hpp"

#include <algorithm>
#include <cmath>
#include <ostream>
#include <string>

#include <nlohmann/json.hpp>

#include "sim/cli/format.hpp"
#include "sim/cli/text_table.hpp"

namespace tsim::cli {
namespace {

constexpr std::size_t kMeetingsShown = 10;

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

/// Jobs may be of one scenario.
std::string numbered(const std::vector<sim::Job>& jobs, std::size_t job) {
  return std::to_string(job + 1) + ": " + jobs[job].scenario.name;
}

double slowdown(const sim::JobTimes& times) {
  return times.alone.value > 0 ? times.beside.value / times.alone.value - 1 : 0;
}

}  // namespace

void print_jobs_text(const cost::Cluster& cluster, const std::vector<sim::Job>& jobs,
                     const sim::JobsReport& report, std::ostream& out) {
  out << jobs.size() << " jobs on " << device_count(cluster) << " devices of " << cluster.name
      << ", one iteration of each, started together\n";
  std::vector<std::vector<std::string>> rows;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const sim::JobTimes& t = report.jobs[j];
    rows.push_back({numbered(jobs, j), ranges(jobs[j].devices), format(t.alone), format(t.beside),
                    percent(slowdown(t))});
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
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    columns.push_back({numbered(jobs, j), Align::right});
  }
  columns.push_back({"used", Align::right});
  rows.clear();
  for (std::size_t i = 0; i < std::min(report.meetings.size(), kMeetingsShown); ++i) {
    const sim::Meeting& m = report.meetings[i];
    rows.push_back({m.channel});
    for (const double bytes : m.bytes) {
      rows.back().push_back(format(Bytes{std::llround(bytes)}));
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

}  // namespace tsim::cli
