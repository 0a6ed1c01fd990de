// How fast the analytic tier goes through a space: sweep_bench SPEC [POINTS].
// Prints its size, points and estimates a second, and what they are to Calculon's 262
// configurations a second and core (github.com/calculon-ai/calculon, its own log of this search).
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>

#include "sim/sweep/search.hpp"
#include "sim/sweep/spec_flags.hpp"

namespace {

constexpr double kCalculon = 262;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void measure(const tsim::sim::SweepSpec& spec, std::uint64_t most, bool bounded) {
  using tsim::sim::Best;
  using tsim::sim::Counts;
  const auto start = std::chrono::steady_clock::now();
  tsim::sim::Searcher searcher(spec);
  Best best(static_cast<std::size_t>(spec.top), false);
  Counts counts;
  const std::uint64_t size = searcher.space().size();
  searcher.range({0, std::min(most, size), bounded}, best, counts);
  const double seconds = seconds_since(start);
  std::cout << (bounded ? "bounded     " : "exhaustive  ") << size << " points, " << counts.points
            << " searched, " << counts.legal << " legal, " << counts.estimated << " estimated, "
            << counts.planned << " planned, " << counts.fitting << " fit, in " << seconds
            << " s: " << static_cast<double>(counts.points) / seconds << " points/s, "
            << static_cast<double>(counts.legal) / seconds
            << " legal/s = " << static_cast<double>(counts.legal) / seconds / kCalculon
            << " x Calculon\n";
  if (!best.answers().empty()) {
    std::cout << "best step   " << best.answers().front().estimate.step << " s\n";
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const auto spec = tsim::sim::read_spec(argc > 1 ? argv[1] : "scenarios/sweeps/gpt3_512.json",
                                           tsim::sim::SpecFlags{});
    const std::uint64_t most = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : UINT64_MAX;
    for (const bool bounded : {false, true}) { measure(spec, most, bounded); }
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
