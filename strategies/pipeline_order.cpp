#include "strategies/pipeline_order.hpp"

#include <algorithm>

namespace tsim::strategies {
namespace {

/// The seat in stage order: chunks that run backwards through the stages are mirrored.
int along(const PipelineShape& shape, Seat seat) {
  const bool mirrored = shape.placement != Placement::loop && seat.chunk % 2 == 1;
  return mirrored ? shape.stages - 1 - seat.stage : seat.stage;
}

}  // namespace

std::string_view name_of(Placement placement) {
  switch (placement) {
    case Placement::loop: return "loop";
    case Placement::wave: return "wave";
    case Placement::bidirectional: return "bidirectional";
  }
  return "";
}

int part_count(const PipelineShape& shape) {
  return shape.placement == Placement::bidirectional ? shape.stages : shape.stages * shape.chunks;
}

int part_of(const PipelineShape& shape, Seat seat) {
  const int first = shape.placement == Placement::bidirectional ? 0 : seat.chunk * shape.stages;
  return first + along(shape, seat);
}

std::optional<Seat> neighbour(const PipelineShape& shape, Seat seat, int step) {
  const int part = part_of(shape, seat) + step;
  if (part < 0 || part >= part_count(shape)) { return std::nullopt; }
  if (shape.placement == Placement::bidirectional) {
    return Seat{along(shape, {part, seat.chunk}), seat.chunk};
  }
  const int chunk = part / shape.stages;
  return Seat{along(shape, {part % shape.stages, chunk}), chunk};
}

StageOrder forward_only(const PipelineShape& shape) {
  StageOrder order;
  for (int first = 0; first < shape.micro_batches; first += shape.stages) {
    const int end = std::min(first + shape.stages, shape.micro_batches);
    for (int chunk = 0; chunk < shape.chunks; ++chunk) {
      for (int m = first; m < end; ++m) { order.push_back({Phase::forward, m, chunk}); }
    }
  }
  return order;
}

}  // namespace tsim::strategies
