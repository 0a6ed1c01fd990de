#include "sim/sweep/held.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace tsim::sim {
namespace {

using strategies::Phase;
using strategies::PipelineShape;
using strategies::Schedule;

std::size_t index(int i) { return static_cast<std::size_t>(i); }

/// Whether `a` holds at least what `b` does at the start of the same phase of the same chunk.
bool above(const Instant& a, const Instant& b) {
  return a.phase == b.phase && a.chunk == b.chunk &&
         std::ranges::equal(a.held, b.held, std::greater_equal{}) &&
         std::ranges::equal(a.waiting, b.waiting, std::greater_equal{});
}

void keep(const Instant& instant, std::vector<Instant>& list) {
  if (std::ranges::any_of(list, [&](const Instant& other) { return above(other, instant); })) {
    return;
  }
  std::erase_if(list, [&](const Instant& other) { return above(instant, other); });
  list.push_back(instant);
}

/// Rounds of the pipeline's length after which these schedules repeat themselves.
constexpr int kRounds = 3;
constexpr std::array<std::string_view, 3> kSteady{"1f1b", "interleaved", "naive"};

PipelineShape shortened(const Schedule& schedule, PipelineShape shape) {
  const bool steady = std::ranges::find(kSteady, schedule.name) != kSteady.end();
  const int round = std::max(shape.stages, shape.group);
  if (!steady || shape.micro_batches <= kRounds * round) { return shape; }
  shape.micro_batches = (kRounds - 1) * round + shape.micro_batches % round;
  return shape;
}

}  // namespace

std::vector<Instant> instants_of(const strategies::StageOrder& order, int chunks) {
  std::vector<Instant> list;
  Instant now;
  now.held.assign(index(chunks), 0);
  now.waiting.assign(index(chunks), 0);
  for (const strategies::Action& action : order) {
    now.phase = action.phase;
    now.chunk = action.chunk;
    if (action.phase != Phase::weight_grad) { keep(now, list); }
    auto& held = now.held[index(action.chunk)];
    auto& waiting = now.waiting[index(action.chunk)];
    switch (action.phase) {
      case Phase::forward: ++held; break;
      case Phase::backward: --held; break;
      case Phase::input_grad:
        --held;
        ++waiting;
        break;
      case Phase::weight_grad: --waiting; break;
      default: break;
    }
  }
  return list;
}

std::int64_t most_bytes(const std::vector<Instant>& instants,
                        const std::vector<const PartFigures*>& chunks) {
  std::int64_t most = 0;
  for (const Instant& instant : instants) {
    const PartFigures& own = *chunks[index(instant.chunk)];
    const PartSize peak = instant.phase == Phase::forward    ? PartSize::forward_peak
                          : instant.phase == Phase::backward ? PartSize::backward_peak
                                                             : PartSize::input_peak;
    std::int64_t sum = own[peak];
    for (std::size_t c = 0; c < chunks.size(); ++c) {
      sum += instant.held[c] * (*chunks[c])[PartSize::kept] +
             instant.waiting[c] * (*chunks[c])[PartSize::waiting];
    }
    most = std::max(most, sum);
  }
  return most;
}

const std::vector<std::vector<Instant>>& HeldTable::stages(const Schedule& schedule,
                                                           PipelineShape shape) {
  shape = shortened(schedule, shape);
  const auto [at, added] =
      known_.try_emplace({&schedule, shape.stages, shape.chunks, shape.micro_batches, shape.group});
  if (added) {
    const strategies::PipelineOrder order = schedule.order(shape, {});
    for (const strategies::StageOrder& stage : order) {
      at->second.push_back(instants_of(stage, shape.chunks));
    }
  }
  return at->second;
}

}  // namespace tsim::sim
