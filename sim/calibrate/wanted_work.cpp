#include "sim/calibrate/wanted_work.hpp"

#include <algorithm>
#include <map>

namespace tsim::calibrate {
namespace {

/// The work line of a communication; empty for what tsim-measure does not time.
std::string line_of(const sim::CommRow& row) {
  const std::string op =
      row.label == "pipeline transfer" ? "send_recv" : row.label.substr(row.label.rfind(' ') + 1);
  const std::string line = "collective " + op + " " + std::to_string(row.ranks) + " " +
                           std::to_string(row.payload.value);
  return cost::subject_of(line) ? line : std::string();
}

/// Seconds of each work line in one iteration.
std::map<std::string, double> times_of(const sim::Report& report) {
  std::map<std::string, double> times;
  for (const sim::Lookup& lookup : report.lookups) {
    if (lookup.subject) { times[cost::line_of(*lookup.subject)] += lookup.time.value; }
  }
  for (const sim::CommRow& row : report.communications) {
    const std::string line = line_of(row);
    if (!line.empty()) { times[line] += static_cast<double>(row.count) * row.each.value; }
  }
  return times;
}

}  // namespace

std::vector<Wanted> wanted_work(std::span<const sim::Report> reports) {
  std::map<std::string, double> shares;
  for (const sim::Report& report : reports) {
    const std::map<std::string, double> times = times_of(report);
    double sum = 0;
    for (const auto& [line, time] : times) { sum += time; }
    for (const auto& [line, time] : times) {
      shares[line] += time / sum / static_cast<double>(reports.size());
    }
  }
  std::vector<Wanted> wanted;
  wanted.reserve(shares.size());
  for (const auto& [line, share] : shares) { wanted.push_back({line, share}); }
  std::stable_sort(wanted.begin(), wanted.end(),
                   [](const Wanted& a, const Wanted& b) { return a.share > b.share; });
  return wanted;
}

}  // namespace tsim::calibrate
