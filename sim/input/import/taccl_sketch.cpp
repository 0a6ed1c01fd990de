#include "sim/input/import/taccl_sketch.hpp"

#include <charconv>

#include "sim/input/suggest.hpp"

namespace tsim::sim {
namespace {

int read_gpu(const Place& place, int gpus) {
  return static_cast<int>(read_count(place, {0, gpus - 1}));
}

std::vector<int> read_gpus(const Place& place, int gpus) {
  std::vector<int> list;
  for (const Place& entry : read_entries(place)) { list.push_back(read_gpu(entry, gpus)); }
  return list;
}

/// {"1": [0, 2]}: GPU 1 sends to GPUs 0 and 2 of other nodes. Or "direct-map": each to its like.
std::vector<std::pair<int, int>> read_relays(const Place& place, int gpus) {
  std::vector<std::pair<int, int>> relays;
  if (place.present() && place.value->is_string()) {
    if (read_text(place) != "direct-map") {
      place.fail(place.found(), "\"direct-map\" or an object");
    }
    for (int i = 0; i < gpus; ++i) { relays.emplace_back(i, i); }
    return relays;
  }
  Reader in(place);
  if (!in.readable()) { return relays; }
  for (const auto& [key, value] : place.value->items()) {
    int sender = -1;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), sender);
    const Place receivers = in.take(key);
    if (error != std::errc{} || end != key.data() + key.size() || sender < 0 || sender >= gpus) {
      receivers.fail("key " + in_quotes(key), "a GPU from 0 to " + std::to_string(gpus - 1));
      continue;
    }
    for (const int receiver : read_gpus(receivers, gpus)) { relays.emplace_back(sender, receiver); }
  }
  return relays;
}

}  // namespace

TacclSketch read_taccl_sketch(const Place& place, int gpus) {
  TacclSketch sketch;
  Reader in(place);
  sketch.nodes = static_cast<int>(read_count(in.take("nnodes"), {1, 1024}));
  const Place inside = in.take("intranode_sketch");
  if (inside.present()) {
    const Place switches = Reader(inside).take("switches");
    if (switches.present()) {
      for (const Place& group : read_entries(switches)) {
        sketch.switches.push_back(read_gpus(group, gpus));
      }
    }
  }
  const Place between = in.take("internode_sketch");
  if (between.present()) {
    sketch.relays = read_relays(Reader(between).take("internode_conn"), gpus);
  }
  const Place parameters = in.take("hyperparameters");
  if (parameters.present()) {
    const Place chunks = Reader(parameters).take("input_chunkup");
    sketch.chunks = static_cast<int>(read_count(chunks, {1, 4096}, 1));
  }
  return sketch;
}

}  // namespace tsim::sim
