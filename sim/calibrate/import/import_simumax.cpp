// System files of SimuMax: the share of the peak that products, groups of them and fused attention
// of a given shape reach, measured on the machine (github.com/MooreThreads/SimuMax,
// configs/system).
#include <array>
#include <charconv>
#include <map>
#include <set>

#include "sim/calibrate/import/imported_points.hpp"
#include "sim/input/json_reader.hpp"

namespace tsim::calibrate {
namespace {

using sim::Json;
using Fields = std::map<std::string, std::string>;

/// "m" -> "4096" of "b=1, m=4096, k=5120, n=1536, layout=TN, accumulate=False".
Fields fields_of(std::string_view text) {
  Fields fields;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string_view field = text.substr(at, end - at);
    const std::size_t equals = field.find('=');
    const std::size_t begin = field.find_first_not_of(' ');
    if (equals != std::string_view::npos && begin < equals) {
      fields.emplace(field.substr(begin, equals - begin), field.substr(equals + 1));
    }
    at = end + 1;
  }
  return fields;
}

/// What a key names, and the FLOPs that its share of the peak counts.
struct Timed {
  cost::Subject subject;
  double flops = 0;
};

double count(Fields& fields, const char* name) {
  const std::string& text = fields[name];
  double value = 0;
  const auto [stop, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  return failure == std::errc{} && stop == text.data() + text.size() ? value : 0;
}

std::optional<Timed> timed(const std::string& line, double flops) {
  const std::optional<cost::Subject> subject = cost::subject_of(line);
  return subject && flops > 0 ? std::optional(Timed{*subject, flops}) : std::nullopt;
}

/// Layouts as column-major BLAS names them: TN is x W^T, NN dy W, NT dy^T x.
std::string transposes_of(Fields& fields) {
  const std::string& layout = fields["layout"];
  if (layout == "TN") { return "nt"; }
  if (layout == "NN") { return "nn"; }
  if (layout != "NT") { return {}; }
  // Without a format of the result: the sums of Megatron-LM's weights, which are fp32.
  const bool wide = fields["out_dtype"] != "bf16";
  return fields["accumulate"] == "True" && wide ? "tn+" : "tn";
}

/// "b=1, m=4096, k=5120, n=1536, layout=TN, accumulate=False, out_dtype=bf16"
std::optional<Timed> product(Fields& fields) {
  const std::string transposes = transposes_of(fields);
  const std::string shape = " " + fields["m"] + " " + fields["n"] + " " + fields["k"];
  const double flops =
      2 * count(fields, "b") * count(fields, "m") * count(fields, "n") * count(fields, "k");
  if (fields["b"] == "1") { return timed("gemm bf16 " + transposes + shape, flops); }
  return timed("bmm bf16 " + transposes + " " + fields["b"] + shape, flops);
}

/// "ng=160, M=154, N=3072, K=5120, dtype=bf16, main_grad_dtype=fp32, stage=fwd, accumulate=False":
/// M rows of a group, weights [N, K].
std::optional<Timed> groups(Fields& fields) {
  const std::string &m = fields["M"], &n = fields["N"], &k = fields["K"];
  const std::string head = " " + fields["ng"] + " ";
  const double flops =
      2 * count(fields, "ng") * count(fields, "M") * count(fields, "N") * count(fields, "K");
  if (fields["dtype"] != "bf16") { return std::nullopt; }
  if (fields["stage"] == "fwd") {
    return timed("grouped bf16 nt" + head + m + " " + n + " " + k, flops);
  }
  if (fields["stage"] == "bwd_grad_act") {
    return timed("grouped bf16 nn" + head + m + " " + k + " " + n, flops);
  }
  const bool sum = fields["accumulate"] == "True" && fields["main_grad_dtype"] == "fp32";
  if (fields["stage"] != "bwd_grad_w") { return std::nullopt; }
  return timed((sum ? "grouped bf16 tn+" : "grouped bf16 tn") + head + n + " " + k + " " + m,
               flops);
}

/// "batch=1, seq_len=4096, head_num=64, kv_head_num=8, qk_head_dim=128, v_head_dim=128,
/// qkv_contiguous=True", causal. Its FLOPs are those of all pairs of tokens, two products forward
/// and five backward [SimuMax, simu_tools/efficency_test/test_fa_efficiency.py].
std::optional<Timed> attention(Fields& fields, bool backward) {
  const double tokens = count(fields, "seq_len");
  const double heads = count(fields, "batch") * count(fields, "head_num");
  const double widths = count(fields, "qk_head_dim") + count(fields, "v_head_dim");
  const double flops = (backward ? 5 : 2) * heads * tokens * tokens * widths;
  const std::string length = " " + fields["seq_len"];
  return timed("attention bf16 " + std::string(backward ? "bwd" : "fwd") + " causal " +
                   std::to_string(static_cast<std::int64_t>(heads)) + length + length + " " +
                   fields["qk_head_dim"],
               flops);
}

double number_at(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_number() ? at->get<double>() : 0.0;
}

/// `key` of `object`; an empty object when it is none.
const Json& member(const Json& object, const char* key) {
  static const Json none = Json::object();
  const auto at = object.find(key);
  return at != object.end() && at->is_object() ? *at : none;
}

/// A table of shares by key, and what its keys name.
struct Table {
  const char* name;
  std::optional<Timed> (*read)(Fields&);
};

constexpr std::array<Table, 4> kTables{
    {{"matmul", product},
     {"group_matmul", groups},
     {"sdp_fwd", [](Fields& fields) { return attention(fields, false); }},
     {"sdp_bwd", [](Fields& fields) { return attention(fields, true); }}}};

/// Adds the points of one table; how many keys were of unknown form. What two keys name alike (the
/// forward, once for every format of the gradients) counts once.
std::size_t add_points(const Json& operation, const Table& table,
                       std::vector<ImportedPoint>& points) {
  const double peak = number_at(operation, "tflops") * 1e12;
  std::set<cost::Subject> seen;
  std::size_t unknown = 0;
  for (const auto& [key, value] : member(operation, "accurate_efficient_factor").items()) {
    Fields fields = fields_of(key);
    const std::optional<Timed> one = table.read(fields);
    const double share = value.is_number() ? value.get<double>() : 0.0;
    const bool strided = fields["qkv_contiguous"] == "False";
    if (strided) { continue; }  // beside the same with operands in one piece
    if (!one || share <= 0 || peak <= 0) {
      ++unknown;
      continue;
    }
    if (!seen.insert(one->subject).second) { continue; }
    const Seconds time{one->flops / (peak * share)};
    ImportedPoint& point = points.emplace_back();
    point.subject = one->subject;
    point.point = {.shape = one->subject.shape, .median = time, .low = time, .high = time};
  }
  return unknown;
}

}  // namespace

ImportedPoints import_simumax(std::string_view text, sim::Problems& problems) {
  ImportedPoints imported{.format = "a system file of SimuMax"};
  const std::optional<Json> document = sim::parse_json(text, "", problems);
  if (!document || !document->is_object()) { return imported; }
  const Json& operations = member(member(*document, "accelerator"), "op");
  std::size_t unknown = 0;
  for (const Table& table : kTables) {
    unknown += add_points(member(operations, table.name), table, imported.points);
  }
  if (imported.points.empty()) {
    problems.add({.path = "/accelerator/op/matmul",
                  .found = "no efficiencies by shape",
                  .expected = "tflops and accurate_efficient_factor"});
    return imported;
  }
  const auto name = document->find("sys_name");
  if (name != document->end() && name->is_string()) {
    imported.source.facts.emplace_back("system", name->get<std::string>());
  }
  imported.source.facts.emplace_back("figures", "SimuMax: efficiencies of a peak, turned to times");
  if (unknown > 0) {
    imported.remarks.push_back(std::to_string(unknown) + " shapes of unknown form");
  }
  return imported;
}

}  // namespace tsim::calibrate
