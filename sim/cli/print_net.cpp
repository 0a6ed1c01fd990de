#include "sim/cli/print_net.hpp"

#include <algorithm>
#include <iomanip>
#include <ostream>
#include <sstream>

#include <nlohmann/json.hpp>

#include "sim/cli/format.hpp"
#include "sim/cli/text_table.hpp"

namespace tsim::cli {
namespace {

using cost::CollectiveOp;
using sim::NetRow;

constexpr double kGB = 1e9;
constexpr std::size_t kLinksShown = 20;
constexpr std::int64_t kElement = 4;  // float, as nccl-tests unless told otherwise

std::string fixed(double value, int decimals) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(decimals) << value;
  return text.str();
}

bool reduces(CollectiveOp op) {
  return op == CollectiveOp::all_reduce || op == CollectiveOp::reduce_scatter ||
         op == CollectiveOp::reduce;
}

bool rooted(CollectiveOp op) {
  return op == CollectiveOp::broadcast || op == CollectiveOp::reduce ||
         op == CollectiveOp::scatter || op == CollectiveOp::gather;
}

/// "3.142" from 0.01 on; nccl-tests prints 2 decimals.
std::string gigabytes(double bytes_per_second) { return fixed(bytes_per_second / kGB, 2); }

std::string micros(Seconds t) {
  const double us = t.value * 1e6;
  return fixed(us, us >= 1000 ? 1 : 2);
}

void print_header(const NetAnswer& a, std::ostream& out) {
  const sim::NetRequest& r = *a.request;
  out << "# " << a.op << " on " << r.op.devices.size() << " of " << device_count(*a.cluster)
      << " devices of " << (a.cluster->name.empty() ? "the cluster" : a.cluster->name) << ", "
      << (r.steps || r.op.program ? "step by step" : "steps added up");
  const std::string& tuning = a.cluster->topology.tuning.name;
  if (!tuning.empty()) { out << ", library " << tuning; }
  out << '\n';
  for (const sim::Beside& b : r.beside) {
    out << "# beside " << name_of(b.op.op) << " of " << format(b.size) << " on "
        << b.op.devices.size() << " devices\n";
  }
  out << "#\n";
}

/// One algorithm: the columns of nccl-tests, then what was chosen.
void print_table_of(const NetAnswer& a, const NetSeries& series, std::ostream& out) {
  const bool beside = !a.request->beside.empty();
  out << "#       size         count      type   redop    root     time   algbw   busbw"
      << (beside ? "    alone" : "") << "  algorithm  protocol\n"
      << "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)"
      << (beside ? "     (us)" : "") << '\n';
  const sim::NetOp& op = a.request->op;
  const int ranks = static_cast<int>(op.devices.size());
  for (const NetRow& row : series.rows) {
    out << std::setw(12) << row.size.value << std::setw(14) << element_count(op.op, row.size, ranks)
        << std::setw(10) << "float" << std::setw(8) << (reduces(op.op) ? "sum" : "none")
        << std::setw(8) << (rooted(op.op) ? 0 : -1) << std::setw(9) << micros(row.time)
        << std::setw(8) << gigabytes(algorithm_bandwidth(row)) << std::setw(8)
        << gigabytes(bus_bandwidth(row, op));
    if (beside) { out << std::setw(9) << micros(row.alone); }
    out << "  " << row.algorithm << (row.protocol.empty() ? "" : "  " + row.protocol) << '\n';
  }
  double sum = 0;
  for (const NetRow& row : series.rows) { sum += bus_bandwidth(row, op); }
  out << "# Avg bus bandwidth    : "
      << fixed(sum / kGB / static_cast<double>(series.rows.size()), 3) << '\n';
}

/// Several algorithms: time and bus bandwidth of each, and which is fastest.
void print_comparison(const NetAnswer& a, std::ostream& out) {
  std::vector<Column> columns{{"size (B)", Align::right}};
  for (const NetSeries& s : a.series) {
    columns.push_back({s.algorithm + " (us)", Align::right});
    columns.push_back({"busbw (GB/s)", Align::right});
  }
  columns.push_back({"fastest"});
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < a.series[0].rows.size(); ++i) {
    std::vector<std::string> cells{std::to_string(a.series[0].rows[i].size.value)};
    const NetSeries* best = &a.series[0];
    for (const NetSeries& s : a.series) {
      cells.push_back(micros(s.rows[i].time));
      cells.push_back(gigabytes(bus_bandwidth(s.rows[i], a.request->op)));
      if (s.rows[i].time < best->rows[i].time) { best = &s; }
    }
    cells.push_back(best->algorithm);
    rows.push_back(std::move(cells));
  }
  print_table(out, columns, rows);
}

void print_links(const NetAnswer& a, std::ostream& out) {
  const NetRow& row = a.series[0].rows.back();
  const std::vector<LinkUse> uses = link_uses(row, a.cluster->topology);
  out << "\nLinks at " << format(row.size) << " (" << a.series[0].rows.back().algorithm << ")\n";
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < std::min(uses.size(), kLinksShown); ++i) {
    rows.push_back(
        {uses[i].name, format(Bytes{std::llround(uses[i].bytes)}), percent(uses[i].utilisation)});
  }
  print_table(out, {{"link"}, {"bytes", Align::right}, {"used", Align::right}}, rows);
  if (uses.size() > kLinksShown) { out << "and " << uses.size() - kLinksShown << " more\n"; }
}

void print_bottleneck(const NetAnswer& a, std::ostream& out) {
  const NetRow& row = a.series[0].rows.back();
  const std::vector<LinkUse> uses = link_uses(row, a.cluster->topology);
  if (uses.empty()) { return; }
  const auto equal = static_cast<std::size_t>(std::ranges::count_if(uses, [&](const LinkUse& use) {
    return use.utilisation > uses[0].utilisation * (1 - 1e-9);
  }));
  out << "# Bottleneck           : " << uses[0].name;
  if (equal > 1) { out << " and " << equal - 1 << " like it"; }
  out << ", " << percent(uses[0].utilisation) << " used at " << format(row.size) << '\n';
}

nlohmann::ordered_json row_json(const NetRow& row, const NetAnswer& a) {
  const sim::NetOp& op = a.request->op;
  nlohmann::ordered_json json{
      {"size_bytes", row.size.value},
      {"count", element_count(op.op, row.size, static_cast<int>(op.devices.size()))},
      {"time_s", row.time.value},
      {"algbw_bytes_per_s", algorithm_bandwidth(row)},
      {"busbw_bytes_per_s", bus_bandwidth(row, op)},
      {"algorithm", row.algorithm},
      {"protocol", row.protocol}};
  if (!row.beside.empty()) {
    json["alone_s"] = row.alone.value;
    for (const Seconds t : row.beside) { json["beside_s"].push_back(t.value); }
  }
  if (a.links) {
    for (const LinkUse& use : link_uses(row, a.cluster->topology)) {
      json["links"].push_back(
          {{"name", use.name}, {"bytes", use.bytes}, {"utilisation", use.utilisation}});
    }
  }
  return json;
}

}  // namespace

std::int64_t element_count(CollectiveOp op, Bytes size, int ranks) {
  switch (op) {
    case CollectiveOp::all_gather:
    case CollectiveOp::reduce_scatter:
    case CollectiveOp::all_to_all:
    case CollectiveOp::scatter:
    case CollectiveOp::gather: return size.value / kElement / ranks;
    default: return size.value / kElement;
  }
}

std::vector<LinkUse> link_uses(const NetRow& row, const cost::Topology& topology) {
  std::vector<LinkUse> uses;
  Seconds whole = row.time;
  for (const Seconds t : row.beside) { whole = std::max(whole, t); }
  for (std::size_t c = 0; c < row.channel_bytes.size(); ++c) {
    if (!(row.channel_bytes[c] > 0)) { continue; }
    const double used = whole.value > 0 ? row.wire_seconds[c] / whole.value : 0;
    uses.push_back({topology.channels[c].name, row.channel_bytes[c], used});
  }
  std::ranges::stable_sort(uses, std::greater{}, &LinkUse::utilisation);
  return uses;
}

void print_net_text(const NetAnswer& a, std::ostream& out) {
  print_header(a, out);
  if (a.series.size() > 1) {
    print_comparison(a, out);
  } else {
    print_table_of(a, a.series[0], out);
    print_bottleneck(a, out);
  }
  const NetRow& last = a.series[0].rows.back();
  for (std::size_t i = 0; i < last.beside.size(); ++i) {
    const sim::Beside& b = a.request->beside[i];
    out << "# " << name_of(b.op.op) << " of " << format(b.size) << " beside " << format(last.size)
        << ": " << format(last.beside[i]) << '\n';
  }
  if (a.links) { print_links(a, out); }
}

void print_net_csv(const NetAnswer& a, std::ostream& out) {
  const sim::NetOp& op = a.request->op;
  out << "size_bytes,count,type,redop,root,time_us,algbw_GBps,busbw_GBps,algorithm,protocol\n";
  for (const NetSeries& series : a.series) {
    for (const NetRow& row : series.rows) {
      out << row.size.value << ','
          << element_count(op.op, row.size, static_cast<int>(op.devices.size())) << ",float,"
          << (reduces(op.op) ? "sum" : "none") << ',' << (rooted(op.op) ? 0 : -1) << ','
          << significant(row.time.value * 1e6, 6) << ','
          << significant(algorithm_bandwidth(row) / kGB, 6) << ','
          << significant(bus_bandwidth(row, op) / kGB, 6) << ',' << row.algorithm << ','
          << row.protocol << '\n';
    }
  }
}

void print_net_json(const NetAnswer& a, std::ostream& out) {
  nlohmann::ordered_json json{{"cluster", a.cluster->name},
                              {"op", a.op},
                              {"ranks", a.request->op.devices},
                              {"fidelity", a.request->steps ? "steps" : "aggregated"},
                              {"tuning", a.cluster->topology.tuning.name}};
  json["series"] = nlohmann::ordered_json::array();
  for (const NetSeries& series : a.series) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const NetRow& row : series.rows) { rows.push_back(row_json(row, a)); }
    json["series"].push_back({{"algorithm", series.algorithm}, {"rows", std::move(rows)}});
  }
  out << json.dump(2) << '\n';
}

}  // namespace tsim::cli
