// Whether an order can be run to its end.
#pragma once

#include <optional>
#include <string>

#include "strategies/pipeline_order.hpp"

namespace tsim::strategies {

/// "F3" of micro-batch 3; "B3.1" on chunk 1 when stages have several.
std::string to_text(const PipelineShape& shape, const Action& action);

/// The first thing that makes an order incomplete: a forward, backward or weight gradient that is
/// missing, there twice, or before what it needs on its own stage; when bidirectional, a
/// micro-batch that takes both directions.
std::optional<std::string> find_incomplete(const PipelineShape& shape, const PipelineOrder& order);

/// Where a complete order stops for ever: the cycle of stages and micro-batches that wait for each
/// other. `blocking`: a stage goes on only when its neighbour has come to receive what it sent.
std::optional<std::string> find_deadlock(const PipelineShape& shape, const PipelineOrder& order,
                                         bool blocking);

}  // namespace tsim::strategies
