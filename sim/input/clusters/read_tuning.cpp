#include "sim/input/clusters/read_tuning.hpp"

#include <array>

#include "cost/tunings.hpp"
#include "sim/input/suggest.hpp"

namespace tsim::sim {
namespace {

using enum cost::CollectiveOp;

constexpr std::array kOps{all_reduce, reduce_scatter, all_gather, broadcast, reduce,
                          scatter,    gather,         all_to_all, send_recv, barrier};

Seconds read_time(const Place& place) { return {read_quantity(place, Dimension::time, 0.0, true)}; }

cost::Regime read_regime(Reader in) {
  cost::Regime regime;
  regime.protocol = read_text(in.take("protocol"), regime.protocol);
  const Place op = in.take("op");
  if (op.present()) { regime.op = read_choice<cost::CollectiveOp>(op, kOps); }
  regime.algorithm = read_text(in.take("algorithm"), "");
  regime.start = read_time(in.take("start"));
  regime.step = read_time(in.take("step"));
  regime.network_step = read_time(in.take("network_step"));
  regime.share = read_real(in.take("share"), {.least = 0.0, .most = 1.0, .above = true}, 1.0);
  regime.buffer = {read_quantity(in.take("buffer"), Dimension::rate, regime.buffer.value)};
  regime.least = read_time(in.take("least"));
  in.finish();
  return regime;
}

cost::Tuning read_named(const Place& place) {
  const std::string name = read_text(place);
  if (const auto tuning = cost::tuning_named(name)) { return *tuning; }
  std::vector<std::string_view> names;
  for (const cost::Tuning& tuning : cost::tunings()) { names.emplace_back(tuning.name); }
  if (!name.empty()) {
    place.fail(in_quotes(name), "an object or one of " + join(names), did_you_mean(name, names));
  }
  return {};
}

}  // namespace

cost::Tuning read_tuning(const Place& place) {
  if (!place.present()) { return {}; }
  if (place.value->is_string()) { return read_named(place); }
  Reader in(place);
  cost::Tuning tuning;
  tuning.name = read_text(in.take("name"), "");
  tuning.source = read_text(in.take("source"), "");
  const Place regimes = in.take("regimes");
  if (regimes.present()) { tuning.regimes.clear(); }
  for (const Place& regime : read_entries(regimes)) {
    tuning.regimes.push_back(read_regime(Reader(regime)));
  }
  if (tuning.regimes.empty()) { regimes.fail(regimes.found(), "at least one regime"); }
  in.finish();
  return tuning;
}

}  // namespace tsim::sim
