// What a schedule's order keeps on a stage at the instants when that may be most.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "sim/sweep/part_figures.hpp"
#include "strategies/schedule.hpp"

namespace tsim::sim {

/// The start of a phase on a chunk, and by chunk the micro-batches kept by then whose backward has
/// not run, or has run its first part only.
struct Instant {
  strategies::Phase phase{};
  int chunk = 0;
  std::vector<std::int32_t> held, waiting;
};

/// Of one stage's order, the instants that no other one is above in everything.
std::vector<Instant> instants_of(const strategies::StageOrder& order, int chunks);

/// Most bytes that a stage's chunks keep and use at one of `instants`.
std::int64_t most_bytes(const std::vector<Instant>& instants,
                        const std::vector<const PartFigures*>& chunks);

/// Instants of every stage, found once for each shape. Of schedules whose first stages hold no more
/// with more micro-batches than fill the pipeline twice, those are enough.
class HeldTable {
 public:
  const std::vector<std::vector<Instant>>& stages(const strategies::Schedule& schedule,
                                                  strategies::PipelineShape shape);

 private:
  std::map<std::tuple<const strategies::Schedule*, int, int, int, int>,
           std::vector<std::vector<Instant>>>
      known_;
};

}  // namespace tsim::sim
