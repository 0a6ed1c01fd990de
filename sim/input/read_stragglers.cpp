#include "sim/input/read_stragglers.hpp"

#include <algorithm>

#include "sim/input/suggest.hpp"

namespace tsim::sim {
namespace {

constexpr double kSlowest = 1000.0;

SlowEntry read_entry(const Place& place) {
  Reader in(place);
  SlowEntry entry;
  int named = 0;
  const auto take = [&](std::string_view key) {
    Place at = in.take(key);
    if (at.present()) {
      entry.place = at;
      ++named;
    }
    return at;
  };
  const Place rank = take("rank");
  const Place node = take("node");
  const Place device = take("device");
  if (rank.present()) { entry.rank = read_count(rank, {.least = 0}); }
  if (node.present()) { entry.node = read_count(node, {.least = 0}); }
  if (device.present()) { entry.device = read_text(device); }
  entry.factor = read_real(in.take("factor"), {.least = 0.0, .most = kSlowest, .above = true});
  in.finish();
  if (in.readable() && named != 1) {
    place.fail(named == 0 ? "nobody" : "several", "one of rank, node and device");
  }
  return entry;
}

std::string at_most(std::size_t count, const char* what) {
  return "at most " + std::to_string(count - 1) + " (" + what + " are counted from 0)";
}

/// The vertices' names, by device.
std::vector<std::string_view> device_names(const cost::Topology& topology) {
  std::vector<std::string_view> names(topology.devices.size());
  std::transform(topology.devices.begin(), topology.devices.end(), names.begin(), [&](auto vertex) {
    return std::string_view(topology.vertices[static_cast<std::size_t>(vertex)].name);
  });
  return names;
}

std::vector<std::int32_t> nodes_of(const cost::Topology& topology) {
  std::vector<std::int32_t> nodes;
  nodes.reserve(topology.devices.size());
  for (std::size_t d = 0; d < topology.devices.size(); ++d) {
    nodes.push_back(node_of(topology, static_cast<int>(d)));
  }
  return nodes;
}

class Slower {
 public:
  explicit Slower(const cost::Topology& topology)
      : names_(device_names(topology)), nodes_(nodes_of(topology)), factors_(names_.size(), 1.0) {}

  void add(const SlowEntry& entry) {
    if (entry.rank >= 0) {
      add_rank(entry);
    } else if (entry.node >= 0) {
      add_node(entry);
    } else {
      add_device(entry);
    }
  }

  std::vector<double> factors() && {
    const bool none =
        std::all_of(factors_.begin(), factors_.end(), [](double f) { return f == 1.0; });
    if (none) { factors_.clear(); }
    return std::move(factors_);
  }

 private:
  void add_rank(const SlowEntry& entry) {
    if (static_cast<std::size_t>(entry.rank) >= factors_.size()) {
      entry.place.fail(std::to_string(entry.rank), at_most(factors_.size(), "ranks"));
      return;
    }
    factors_[static_cast<std::size_t>(entry.rank)] *= entry.factor;
  }

  void add_node(const SlowEntry& entry) {
    bool found = false;
    for (std::size_t d = 0; d < nodes_.size(); ++d) {
      if (nodes_[d] != entry.node) { continue; }
      factors_[d] *= entry.factor;
      found = true;
    }
    const auto last = *std::max_element(nodes_.begin(), nodes_.end());
    if (!found) {
      entry.place.fail(std::to_string(entry.node),
                       at_most(static_cast<std::size_t>(last) + 1, "nodes"));
    }
  }

  void add_device(const SlowEntry& entry) {
    const auto at = std::find(names_.begin(), names_.end(), entry.device);
    if (at == names_.end()) {
      entry.place.fail(in_quotes(entry.device), "a device such as " + in_quotes(names_.front()),
                       did_you_mean(entry.device, names_));
      return;
    }
    factors_[static_cast<std::size_t>(at - names_.begin())] *= entry.factor;
  }

  std::vector<std::string_view> names_;
  std::vector<std::int32_t> nodes_;
  std::vector<double> factors_;
};

}  // namespace

StragglersInput read_stragglers(const Place& place) {
  StragglersInput input;
  if (!place.present()) { return input; }
  Reader in(place);
  const Place slow = in.take("slow");
  for (const Place& entry : read_entries(slow)) { input.slow.push_back(read_entry(entry)); }
  const Place jitter = in.take("jitter");
  if (jitter.present()) {
    Reader random(jitter);
    input.jitter.variation =
        read_real(random.take("variation"), {.least = 0.0, .most = 10.0, .above = true});
    input.jitter.seed = read_count(random.take("seed"), {.least = 0}, 1);
    random.finish();
  }
  in.finish();
  return input;
}

std::vector<double> slowdowns(const StragglersInput& input, const cost::Topology& topology) {
  Slower slower(topology);
  for (const SlowEntry& entry : input.slow) { slower.add(entry); }
  std::vector<double> factors = std::move(slower).factors();
  if (input.jitter.variation == 0) { return factors; }
  factors.resize(topology.devices.size(), 1.0);
  for (std::size_t d = 0; d < factors.size(); ++d) {
    factors[d] *= jitter_factor(input.jitter, static_cast<int>(d), 0);
  }
  return factors;
}

}  // namespace tsim::sim
