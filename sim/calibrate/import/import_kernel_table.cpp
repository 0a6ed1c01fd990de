// A table of kernel times that PyTorch measured, as one JSON object: "gpu", "torch" and "nccl" say
// on what, "gemm" lists m, n, k, dtype, layout and us, "ops" operators forward and backward,
// "copies" and "collectives" bytes and us.
#include <algorithm>
#include <array>
#include <map>

#include "sim/calibrate/import/imported_points.hpp"
#include "sim/input/json_reader.hpp"

namespace tsim::calibrate {
namespace {

using cost::PointKind;
using models::DType;
using sim::Json;

/// Times near the shortest of their kind are the host's, which issues kernels one by one: they say
/// nothing of the device.
constexpr double kAboveHost = 1.35;

/// One time with the group whose shortest time is the host's.
struct Row {
  std::string group;
  cost::Subject subject;
  double us = 0;
};

double number(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_number() ? at->get<double>() : 0.0;
}

std::int64_t count(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_number_integer() ? at->get<std::int64_t>() : 0;
}

std::string text(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

class Table {
 public:
  explicit Table(const Json& document) : document_(document) {}

  std::vector<Row> rows() {
    for (const Json& entry : list("gemm")) { add_product(entry); }
    for (const Json& entry : list("ops")) { add_operator(entry); }
    for (const Json& entry : list("copies")) {
      add("", "memcpy " + text(entry, "kind") + " " + digits(entry, "bytes"), number(entry, "us"));
    }
    for (const Json& entry : list("collectives")) {
      std::string op = text(entry, "op");
      if (op == "send_recv_bidir") { op = "send_recv_both"; }
      add("", "collective " + op + " 2 " + digits(entry, "bytes"), number(entry, "us"));
    }
    return std::move(rows_);
  }
  std::size_t unknown() const { return unknown_; }

 private:
  const Json& list(const char* key) const {
    static const Json none = Json::array();
    const auto at = document_.find(key);
    return at != document_.end() && at->is_array() ? *at : none;
  }
  static std::string digits(const Json& entry, const char* key) {
    return std::to_string(count(entry, key));
  }
  void add(const std::string& group, const std::string& line, double us) {
    const std::optional<cost::Subject> subject = cost::subject_of(line);
    if (!subject || us <= 0) {
      ++unknown_;
    } else {
      rows_.push_back({group, *subject, us});
    }
  }
  void add_product(const Json& entry) {
    const std::string layout = text(entry, "layout");
    const char* const transposes = layout.starts_with("dgrad")   ? " nn "
                                   : layout.starts_with("wgrad") ? " tn "
                                                                 : " nt ";
    add("gemm",
        "gemm " + text(entry, "dtype") + transposes + digits(entry, "m") + " " +
            digits(entry, "n") + " " + digits(entry, "k"),
        number(entry, "us"));
  }
  void add_both(const std::string& group, const std::array<std::string, 2>& lines,
                const Json& entry) {
    add(group + " forward", lines[0], number(entry, "fwd_us"));
    add(group + " backward", lines[1], number(entry, "bwd_us"));
  }
  void add_operator(const Json& entry) {
    const std::string op = text(entry, "op");
    const std::string shape = " " + digits(entry, "tokens") + " " + digits(entry, "h");
    const std::string elements = " " + std::to_string(count(entry, "tokens") * count(entry, "h"));
    if (op == "sdpa") {
      const std::string heads = " " + std::to_string(count(entry, "b") * count(entry, "heads"));
      const std::string s = " " + digits(entry, "s");
      const std::string tail = (entry.value("causal", false) ? " causal" : " full") + heads + s +
                               s + " " + digits(entry, "d");
      add_both("attention", {"attention bf16 fwd" + tail, "attention bf16 bwd" + tail}, entry);
    } else if (op == "layernorm" || op == "softmax") {
      add_both(op, {op + " bf16 fwd" + shape, op + " bf16 bwd" + shape}, entry);
    } else if (op == "gelu" || op == "dropout") {
      add_both(op, {"map bf16 " + op + elements, "map bf16 " + op + "_bwd" + elements}, entry);
    } else if (op == "add") {
      // One operand twice is one read: what a copy moves.
      add("add forward", "map bf16 copy" + elements, number(entry, "fwd_us"));
    } else if (op == "cross_entropy_fp32") {
      const std::string rows = " " + digits(entry, "tokens") + " " + digits(entry, "vocab");
      add_both(op, {"cross_entropy fp32 fwd" + rows, "cross_entropy fp32 bwd" + rows}, entry);
    } else if (op == "fused_adamw_fp32") {
      add("adam", "adam " + digits(entry, "n"), number(entry, "us"));
    } else {
      ++unknown_;
    }
  }

  const Json& document_;
  std::vector<Row> rows_;
  std::size_t unknown_ = 0;
};

/// The shortest time of each group that has one for the host.
std::map<std::string, double> floors_of(const std::vector<Row>& rows) {
  std::map<std::string, double> floors;
  for (const Row& row : rows) {
    if (row.group.empty()) { continue; }
    const auto [at, added] = floors.try_emplace(row.group, row.us);
    at->second = std::min(at->second, row.us);
  }
  return floors;
}

}  // namespace

ImportedPoints import_kernel_table(std::string_view content, sim::Problems& problems) {
  ImportedPoints imported{.format = "a table of kernel times of PyTorch"};
  const std::optional<Json> document = sim::parse_json(content, "", problems);
  if (!document) { return imported; }
  for (const char* key : {"gpu", "torch", "nccl", "date", "driver"}) {
    const std::string fact = text(*document, key);
    if (!fact.empty()) {
      imported.source.facts.emplace_back(std::string_view(key) == "gpu" ? "device" : key, fact);
    }
  }
  Table table(*document);
  const std::vector<Row> rows = table.rows();
  const std::map<std::string, double> floors = floors_of(rows);
  std::size_t hidden = 0;
  for (const Row& row : rows) {
    const auto floor = floors.find(row.group);
    if (floor != floors.end() && row.us < kAboveHost * floor->second) {
      ++hidden;
      continue;
    }
    const Seconds time{row.us * 1e-6};
    imported.points.push_back(
        {row.subject, {.shape = row.subject.shape, .median = time, .low = time, .high = time}});
  }
  if (hidden > 0) {
    imported.remarks.push_back(
        std::to_string(hidden) +
        " times within a third of the shortest of their operator: the host's, "
        "not the device's");
  }
  if (table.unknown() > 0) {
    imported.remarks.push_back(std::to_string(table.unknown()) + " rows of unknown operators");
  }
  return imported;
}

}  // namespace tsim::calibrate
