#include "sim/cli/print_topo.hpp"

#include <algorithm>
#include <array>
#include <ostream>
#include <set>

#include <nlohmann/json.hpp>

#include "sim/cli/format.hpp"
#include "sim/cli/text_table.hpp"

namespace tsim::cli {
namespace {

using Json = nlohmann::ordered_json;
using cost::Near;
using sim::NodeTable;
using sim::PairRow;
using sim::TopologyReport;
using Rows = std::vector<std::vector<std::string>>;

// The words of `nvidia-smi topo -m`.
struct Meaning {
  Near near;
  const char* text;
};
constexpr std::array kMeanings{
    Meaning{Near::self, "X    = Self"},
    Meaning{Near::sys,
            "SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes "
            "(e.g., QPI/UPI)"},
    Meaning{Near::node,
            "NODE = Connection traversing PCIe as well as the interconnect between PCIe Host "
            "Bridges within a NUMA node"},
    Meaning{Near::phb,
            "PHB  = Connection traversing PCIe as well as a PCIe Host Bridge (typically the CPU)"},
    Meaning{Near::pxb,
            "PXB  = Connection traversing multiple PCIe bridges (without traversing the PCIe Host "
            "Bridge)"},
    Meaning{Near::pix, "PIX  = Connection traversing at most a single PCIe bridge"},
    Meaning{Near::nvlink, "NV#  = Connection traversing a bonded set of # NVLinks"},
    Meaning{Near::none, "-    = No connection inside the node"}};

std::string rate(BytesPerSecond r) {
  return r == cost::kUnlimited ? "-" : significant(r.value / 1e9, 4);
}
std::string latency(Seconds t) { return significant(t.value * 1e6, 3); }

std::string or_unknown(const std::string& text) { return text.empty() ? "N/A" : text; }

void print_matrix(const NodeTable& table, std::ostream& out) {
  std::vector<Column> columns{{""}};
  for (const std::string& card : table.cards) { columns.push_back({card}); }
  columns.push_back({"CPU Affinity"});
  columns.push_back({"NUMA Affinity"});
  Rows rows;
  for (std::size_t i = 0; i < table.cards.size(); ++i) {
    std::vector<std::string>& row = rows.emplace_back(1, table.cards[i]);
    for (const cost::Nearness& near : table.matrix[i]) { row.push_back(text_of(near)); }
    const bool device = static_cast<int>(i) < table.devices;
    row.push_back(device ? or_unknown(table.cores[i]) : "");
    row.push_back(device ? or_unknown(table.numa[i]) : "");
  }
  print_table(out, columns, rows);
}

void print_legends(const TopologyReport& report, std::ostream& out) {
  std::set<Near> used;
  for (const NodeTable& table : report.tables) {
    for (const auto& row : table.matrix) {
      for (const cost::Nearness& near : row) { used.insert(near.near); }
    }
  }
  out << "\nLegend:\n\n";
  for (const Meaning& meaning : kMeanings) {
    if (used.contains(meaning.near)) { out << "  " << meaning.text << "\n"; }
  }
  for (const NodeTable& table : report.tables) {
    const auto first = static_cast<std::size_t>(table.devices);
    if (table.cards.size() == first) { continue; }
    out << "\nNIC Legend:\n\n";
    for (std::size_t i = first; i < table.cards.size(); ++i) {
      out << "  " << table.cards[i] << ": " << table.names[i] << "\n";
    }
  }
}

/// The pairs of one node as two triangles: bandwidth above the diagonal, latency below.
void print_figures(const NodeTable& table, const PairRow* pairs, std::ostream& out) {
  const auto devices = static_cast<std::size_t>(table.devices);
  Rows cells(devices, std::vector<std::string>(devices + 1));
  const PairRow* pair = pairs;
  for (std::size_t a = 0; a < devices; ++a) {
    cells[a][0] = table.cards[a];
    cells[a][a + 1] = "X";
    for (std::size_t b = a + 1; b < devices; ++b, ++pair) {
      cells[a][b + 1] = pair->reachable ? rate(pair->bandwidth) : "none";
      cells[b][a + 1] = pair->reachable ? latency(pair->latency) : "none";
    }
  }
  std::vector<Column> columns{{""}};
  for (std::size_t a = 0; a < devices; ++a) { columns.push_back({table.cards[a], Align::right}); }
  out << "\nGB/s from one to another (above the diagonal) and us (below)\n";
  print_table(out, columns, cells);
}

std::string device_name(int device) { return "device " + std::to_string(device); }

void print_pairs(const std::vector<PairRow>& pairs, bool paths, bool counts, std::ostream& out) {
  std::vector<Column> columns{{"from"}, {"to"}, {"GB/s", Align::right}, {"us", Align::right}};
  if (counts) { columns.push_back({"alike", Align::right}); }
  if (paths) { columns.push_back({"path"}); }
  Rows rows;
  for (const PairRow& pair : pairs) {
    std::vector<std::string>& row = rows.emplace_back();
    row = {device_name(pair.from), device_name(pair.to),
           pair.reachable ? rate(pair.bandwidth) : "none",
           pair.reachable ? latency(pair.latency) : "none"};
    if (counts) { row.push_back(with_separators(pair.alike)); }
    if (paths) { row.push_back(pair.path); }
  }
  print_table(out, columns, rows);
}

std::size_t pairs_of(const NodeTable& table) {
  const auto devices = static_cast<std::size_t>(table.devices);
  return devices * (devices - 1) / 2;
}

void print_title(const NodeTable& table, std::ostream& out) {
  out << "\nnode " << table.node;
  if (table.alike > 1) { out << " (" << table.alike << " nodes are wired like this)"; }
  out << ": " << table.devices << " x " << table.kinds.front() << "\n";
}

Json pair_json(const PairRow& pair) {
  Json json{{"from", pair.from}, {"to", pair.to}, {"reachable", pair.reachable}};
  if (pair.reachable) {
    const bool limited = pair.bandwidth < cost::kUnlimited;
    json["bandwidth_bytes_per_s"] = limited ? Json(pair.bandwidth.value) : Json(nullptr);
    json["latency_s"] = pair.latency.value;
    json["path"] = pair.path;
  }
  json["alike"] = pair.alike;
  return json;
}

Json table_json(const NodeTable& table) {
  Json json{{"node", table.node}, {"alike", table.alike}};
  json["cards"] = Json::array();
  for (std::size_t i = 0; i < table.cards.size(); ++i) {
    Json card{{"card", table.cards[i]}, {"name", table.names[i]}};
    if (i < table.kinds.size()) { card["device"] = table.kinds[i]; }
    if (!table.cores[i].empty()) { card["cores"] = table.cores[i]; }
    if (!table.numa[i].empty()) { card["numa"] = std::stoi(table.numa[i]); }
    json["cards"].push_back(std::move(card));
  }
  json["matrix"] = Json::array();
  for (const auto& row : table.matrix) {
    Json cells = Json::array();
    for (const cost::Nearness& near : row) { cells.push_back(text_of(near)); }
    json["matrix"].push_back(std::move(cells));
  }
  return json;
}

}  // namespace

void print_topo_text(const TopologyReport& report, const TopoOptions& options, std::ostream& out) {
  out << report.name << ": " << report.devices << (report.devices == 1 ? " device" : " devices")
      << " in " << report.nodes << (report.nodes == 1 ? " node" : " nodes");
  const char* separator = " (";
  for (const std::string& kind : report.kinds) {
    out << separator << kind;
    separator = " + ";
  }
  out << ")\n";
  const PairRow* pairs = report.inside.data();
  for (const NodeTable& table : report.tables) {
    print_title(table, out);
    print_matrix(table, out);
    if (table.devices > 1 && !options.pairs && !options.paths) { print_figures(table, pairs, out); }
    pairs += pairs_of(table);
  }
  if ((options.pairs || options.paths) && !report.inside.empty()) {
    out << "\nInside nodes\n";
    print_pairs(report.inside, options.paths, false, out);
  }
  if (!report.between.empty()) {
    out << "\nBetween nodes" << (options.all ? "" : ", one way of each sort") << "\n";
    print_pairs(report.between, options.paths, !options.all, out);
  }
  print_legends(report, out);
}

void print_topo_json(const TopologyReport& report, std::ostream& out) {
  Json json{{"schema", "tsim-topology"},
            {"version", 1},
            {"name", report.name},
            {"nodes", report.nodes},
            {"devices", report.devices}};
  for (const char* key : {"tables", "inside", "between"}) { json[key] = Json::array(); }
  for (const NodeTable& table : report.tables) { json["tables"].push_back(table_json(table)); }
  for (const PairRow& pair : report.inside) { json["inside"].push_back(pair_json(pair)); }
  for (const PairRow& pair : report.between) { json["between"].push_back(pair_json(pair)); }
  out << json.dump(2) << '\n';
}

}  // namespace tsim::cli
