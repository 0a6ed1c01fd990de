#include "sim/cli/calibrate/print_calibration.hpp"

#include <algorithm>
#include <map>
#include <ostream>
#include <utility>

#include "cost/fit.hpp"
#include "sim/cli/format.hpp"
#include "sim/cli/text_table.hpp"

namespace tsim::cli {
namespace {

/// Middle value, "-" of none.
std::string median_text(std::vector<double> errors) {
  if (errors.empty()) { return "-"; }
  const auto middle = errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2);
  std::nth_element(errors.begin(), middle, errors.end());
  return percent(*middle);
}

}  // namespace

void print_series(const cost::Measured& measured, std::ostream& out) {
  std::vector<std::vector<std::string>> rows;
  std::vector<double> all;
  for (const cost::Series& series : measured.series) {
    if (series.key.kind > cost::PointKind::adam) { continue; }
    const std::vector<double> errors = cost::left_out_errors(series);
    all.insert(all.end(), errors.begin(), errors.end());
    rows.push_back({cost::name_of(series.key), std::to_string(series.points.size()),
                    median_text(errors), series.surface ? percent(series.surface->residual) : "-"});
  }
  if (rows.empty()) { return; }
  out << "\nKernels (left out: median error of points looked up among the others)\n";
  print_table(out,
              {{"series"},
               {"points", Align::right},
               {"left out", Align::right},
               {"surface, rms", Align::right}},
              rows);
  out << "  median error of all left-out points: " << median_text(all) << "\n";
}

namespace {

/// A regime whose time does not grow with the size has no rate.
std::string rate_text(BytesPerSecond rate) {
  constexpr double kFlat = 1e17;
  return rate.value < kFlat ? significant(rate.value / 1e9, 4) + " GB/s" : "-";
}

}  // namespace

void print_links(const cost::Measured& measured, std::ostream& out) {
  std::vector<std::vector<std::string>> rows;
  for (const cost::AlphaBeta& l : measured.links) {
    rows.push_back({l.operation, l.ranks > 0 ? std::to_string(l.ranks) : "-",
                    format(l.least) + " to " + format(l.most), format(l.alpha), rate_text(l.rate),
                    std::to_string(l.points), percent(l.residual)});
  }
  if (rows.empty()) { return; }
  out << "\nCopies and collectives, time = alpha + bytes / rate\n";
  print_table(out,
              {{"operation"},
               {"ranks", Align::right},
               {"sizes"},
               {"alpha", Align::right},
               {"rate", Align::right},
               {"points", Align::right},
               {"rms", Align::right}},
              rows);
}

void print_pairs(const cost::Measured& measured, std::ostream& out) {
  const auto series =
      std::find_if(measured.series.begin(), measured.series.end(),
                   [](const cost::Series& one) { return one.key.kind == cost::PointKind::pair; });
  if (series == measured.series.end()) { return; }
  std::map<std::pair<std::int64_t, std::int64_t>, const cost::MeasuredPoint*> longest;
  std::int64_t most = 0;
  for (const cost::MeasuredPoint& p : series->points) {
    const cost::MeasuredPoint*& at = longest[{p.shape[0], p.shape[1]}];
    if (at == nullptr || at->shape[2] < p.shape[2]) { at = &p; }
    most = std::max({most, p.shape[0], p.shape[1]});
  }
  std::vector<Column> columns{{"from"}};
  std::vector<std::vector<std::string>> rows;
  for (std::int64_t from = 1; from <= most; ++from) {
    columns.push_back({"to " + std::to_string(from), Align::right});
    std::vector<std::string>& row = rows.emplace_back(1, std::to_string(from));
    for (std::int64_t to = 1; to <= most; ++to) {
      const auto found = longest.find({from, to});
      row.push_back(found == longest.end()
                        ? "-"
                        : rate_text(BytesPerSecond{static_cast<double>(found->second->shape[2]) /
                                                   cost::time_of(*found->second).value}));
    }
  }
  out << "\nCopies from one device to another\n";
  print_table(out, columns, rows);
}

void print_calibration(const std::vector<std::filesystem::path>& paths,
                       const std::vector<calibrate::ImportedPoints>& files,
                       const calibrate::Calibration& calibration, std::ostream& out) {
  for (std::size_t i = 0; i < files.size(); ++i) {
    const calibrate::Taken& taken = calibration.taken[i];
    out << paths[i].string() << ": " << files[i].format << "\n  " << taken.points << " points";
    if (taken.repeated > 0) { out << ", " << taken.repeated << " more that a file before has"; }
    out << "\n";
    if (taken.impossible > 0) {
      out << "  left out: " << taken.impossible
          << " times that beat the device's peaks (operands in a cache)\n";
    }
    for (const std::string& remark : files[i].remarks) { out << "  left out: " << remark << "\n"; }
  }
  print_series(calibration.measured, out);
  print_links(calibration.measured, out);
  print_pairs(calibration.measured, out);
}

}  // namespace tsim::cli
