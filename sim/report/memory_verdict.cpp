#include "sim/report/memory_verdict.hpp"

#include <algorithm>

#include "sim/report/hints.hpp"

namespace tsim::sim {
namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }

double fullness(const KindReport& kind) {
  return to_double(kind.needed) / std::max(1.0, to_double(kind.capacity));
}

/// One entry for each kind of device that ranks sit on, with the fullest of its ranks.
std::vector<KindReport> kinds_of(const Scenario& scenario, const strategies::TaskGraph& graph,
                                 const std::vector<MemoryPeak>& peaks) {
  const auto& kind_of = scenario.cluster.topology.device_kind;
  std::vector<KindReport> kinds(scenario.cluster.devices.size());
  for (std::size_t rank = 0; rank < peaks.size(); ++rank) {
    const auto& place = graph.ranks[rank];
    KindReport& kind = kinds[index(kind_of[index(place.device)])];
    const bool first = kind.devices == 0;
    kind.devices += place.copies;
    if (!first && peaks[rank].peak <= total(kind.peak)) { continue; }
    kind.peak = peaks[rank].at_peak;
    kind.rank = place.global;
    kind.stage = place.stage;
  }
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    KindReport& kind = kinds[k];
    const Bytes reserved = kind.peak[index(static_cast<int>(strategies::MemoryClass::reserved))];
    const Bytes whole = total(kind.peak);
    kind.device = scenario.cluster.devices[k].name;
    kind.capacity = scenario.cluster.devices[k].memory;
    kind.allowance =
        Bytes{static_cast<std::int64_t>(scenario.allowance * to_double(whole - reserved))};
    kind.needed = whole + kind.allowance;
    kind.fits = kind.needed <= kind.capacity;
  }
  std::erase_if(kinds, [](const KindReport& kind) { return kind.devices == 0; });
  return kinds;
}

}  // namespace

void add_verdict(const Scenario& scenario, const strategies::TaskGraph& graph,
                 const std::vector<MemoryPeak>& peaks, Report& report) {
  report.kinds = kinds_of(scenario, graph, peaks);
  const auto tightest = std::ranges::max_element(report.kinds, {}, fullness);
  report.tightest = static_cast<std::size_t>(tightest - report.kinds.begin());
  report.device = tightest->device;
  report.heaviest_stage = index(tightest->stage);
  report.needed = tightest->needed;
  report.allowance = tightest->allowance;
  report.capacity = tightest->capacity;
  report.fits = tightest->fits;
  if (!report.fits) { report.hints = memory_hints(scenario, report); }
}

}  // namespace tsim::sim
