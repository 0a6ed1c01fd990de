// A pipeline schedule of the user's own: the order of every stage, written out.
#pragma once

#include <filesystem>

#include "sim/input/json_reader.hpp"
#include "strategies/strategy.hpp"

namespace tsim::sim {

/// Reads `strategy.schedule` into its schedule, chunks, own order and placement: a name of the
/// registry, an object, or the path of a file with one:
///   { "name": text, "placement": "loop" | "wave" | "bidirectional", "stages": [order, ...] }
/// with an order for each stage, "F0 F1 B0 B1 W0 W1" or a list of such: F, B and W of a
/// micro-batch,
/// ".1" for chunk 1, "F3&B2.1" for two that run as one. A B whose W is not there does both.
void read_schedule(const Place& place, const std::filesystem::path& folder,
                   strategies::Strategy& strategy);

/// Micro-batches that a strategy's own order names.
int own_micro_batches(const strategies::Strategy& strategy);

}  // namespace tsim::sim
