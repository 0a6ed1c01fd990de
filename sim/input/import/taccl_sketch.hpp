// What a TACCL sketch says of the wires.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/input/json_reader.hpp"

namespace tsim::sim {

/// `relays`: pairs (sender, receiver) of GPUs inside their nodes that may talk between nodes.
struct TacclSketch {
  int nodes = 1;
  std::vector<std::vector<int>> switches;
  std::optional<std::vector<std::pair<int, int>>> relays;
  int chunks = 1;  // input_chunkup: pieces of a rank's input
};

/// The sketch at `place` for nodes of `gpus` GPUs. Keys that say nothing of the wires are passed
/// over.
TacclSketch read_taccl_sketch(const Place& place, int gpus);

}  // namespace tsim::sim
