#include "sim/report/hints.hpp"

#include <algorithm>
#include <iomanip>
#include <sstream>

namespace tsim::sim {
namespace {

using strategies::MemoryClass;

struct Saving {
  Bytes bytes;
  std::string text;
};

Bytes held(const Report& report, MemoryClass cls) {
  return report.stages[report.heaviest_stage].peak[static_cast<std::size_t>(cls)];
}

Bytes all_but(Bytes bytes, int parts) { return bytes - Bytes{bytes.value / parts}; }

/// One setting that the scenario does not use yet.
void add(std::vector<Saving>& savings, bool possible, Bytes bytes, const std::string& text) {
  if (possible && bytes.value > 0) { savings.push_back({bytes, text}); }
}

}  // namespace

std::string gibibytes(Bytes bytes) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(1) << to_double(bytes) / (1024.0 * 1024 * 1024) << " GiB";
  return text.str();
}

std::vector<std::string> memory_hints(const Scenario& scenario, const Report& report) {
  const strategies::Strategy& s = scenario.strategy;
  const Bytes optimizer = held(report, MemoryClass::optimizer);
  const Bytes activations = held(report, MemoryClass::activations);
  const Bytes states =
      held(report, MemoryClass::parameters) + held(report, MemoryClass::gradients) + optimizer;
  std::vector<Saving> savings;
  add(savings, s.zero.stage == 0 && replica_count(s) > 1, all_but(optimizer, replica_count(s)),
      "ZeRO stage 1 saves");
  const int in_flight = report.stages[report.heaviest_stage].in_flight;
  add(savings, s.schedule == "gpipe" && in_flight > s.pipeline,
      Bytes{activations.value / in_flight} * (in_flight - s.pipeline), "schedule \"1f1b\" saves");
  const bool can_recompute =
      scenario.workload.training && s.recompute != strategies::Recompute::full;
  // A layer keeps 2 of its 34 and more bytes per element when only its input stays.
  add(savings, can_recompute, all_but(activations, 17), "recompute \"full\" saves at most");
  add(savings, scenario.workload.micro_batch > 1, all_but(activations, 2),
      "half the micro-batch saves");
  add(savings, true, all_but(states, 2), "twice the tensor or pipeline degree saves about");
  std::stable_sort(savings.begin(), savings.end(),
                   [](const Saving& a, const Saving& b) { return a.bytes > b.bytes; });
  std::vector<std::string> hints;
  hints.reserve(savings.size());
  for (const Saving& saving : savings) {
    hints.push_back(saving.text + " " + gibibytes(saving.bytes));
  }
  return hints;
}

}  // namespace tsim::sim
