#include <algorithm>
#include <numeric>

#include "sim/input/json_reader.hpp"
#include "sim/input/read_cluster.hpp"
#include "sim/input/suggest.hpp"
#include "sim/input/truth/read_split.hpp"
#include "sim/input/truth/read_truth.hpp"
#include "sim/net/net_lists.hpp"

namespace tsim::sim {
namespace {

NetOp read_op(Reader in, Bytes& size) {
  const std::vector<std::string_view> names = op_names();
  NetOp op;
  op.op = static_cast<cost::CollectiveOp>(read_choice(in.take("op"), names));
  op.algorithm = read_text(in.take("algorithm"), "auto");
  const std::int64_t ranks = read_count(in.take("ranks"), {1, 1'000'000});
  op.devices.resize(static_cast<std::size_t>(ranks));
  std::iota(op.devices.begin(), op.devices.end(), 0);
  size = Bytes{static_cast<std::int64_t>(read_quantity(in.take("size"), Dimension::size))};
  in.finish();
  return op;
}

void check_op(const NetOp& op, const cost::Cluster& cluster, const Place& place) {
  const auto devices = static_cast<std::size_t>(device_count(cluster));
  if (op.devices.size() > devices) {
    place.fail(std::to_string(op.devices.size()) + " ranks",
               "at most " + std::to_string(devices) + " (devices of the cluster)");
  }
  std::vector<std::string_view> known = cost::collective_algorithms(op.op);
  known.insert(known.begin(), "auto");
  if (std::ranges::find(known, op.algorithm) == known.end()) {
    place.fail(in_quotes(op.algorithm), "one of " + join(known));
  }
}

}  // namespace

std::string with_stand_ins(const std::string& document, const StandIns& stand_ins) {
  if (stand_ins.empty()) { return document; }
  const auto found = stand_ins.find(device_of(document));
  if (found == stand_ins.end()) { return document; }
  Json changed = Json::parse(document, nullptr, false);
  Json& device = changed[Json::json_pointer("/cluster/device")];
  const Json value = Json::parse(found->second, nullptr, false);
  if (device.is_object() && !value.is_object()) {
    device["base"] = found->second;
    return changed.dump();
  }
  Json figures = device.is_object() ? device : Json::object();
  figures.erase("base");
  device = value.is_object() ? value : Json(found->second);
  if (!figures.empty()) { device.merge_patch(figures); }
  return changed.dump();
}

TruthCollective read_truth_collective(const std::string& document,
                                      const std::filesystem::path& file) {
  Problems problems;
  TruthCollective row;
  const std::optional<Json> parsed = parse_json(document, "", problems);
  if (parsed) {
    const Source source{.problems = &problems};
    Reader in(Place{&*parsed, "", &source});
    row.cluster = read_cluster(in.take("cluster"), file.parent_path());
    const Place place = in.take("collective");
    row.request.op = read_op(Reader(place), row.size);
    in.finish();
    if (problems.empty()) { check_op(row.request.op, row.cluster, place); }
  }
  if (!problems.empty()) { throw InputErrors(file.string(), problems.errors()); }
  return row;
}

}  // namespace tsim::sim
