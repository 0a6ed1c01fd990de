// What leaves the device's memory for its host's or for another device's.
#pragma once

#include <cstdint>
#include <string_view>

#include "cost/topology.hpp"
#include "models/units.hpp"
#include "strategies/rank_group.hpp"

namespace tsim::strategies {

struct Strategy;
struct StateBytes;

/// Where states are kept.
enum class StatesAt : std::uint8_t { device, cpu, nvme };
std::string_view name_of(StatesAt at);

/// Where activations wait for their backward. peer: on the device of a later stage.
enum class ActivationsAt : std::uint8_t { device, cpu, peer };
std::string_view name_of(ActivationsAt at);

/// ZeRO-Offload [arXiv:2101.06840] and ZeRO-Infinity [arXiv:2104.07857].
struct Offload {
  StatesAt optimizer = StatesAt::device;   // states and gradients; elsewhere the host steps
  StatesAt parameters = StatesAt::device;  // a rank's shard, at stage 3
  ActivationsAt activations = ActivationsAt::device;
  int layers = 0;       // of a chunk, whose activations leave it: its first ones; 0: all but the
                        // last, whose backward follows its forward
  double cpu_rate = 0;  // parameters that a node's processors step in a second; 0: as its memory
                        // allows
  Bytes host_memory;    // of a node; 0: not known
  bool operator==(const Offload&) const = default;
};

/// Whether the optimizer runs on the host.
bool steps_on_host(const Strategy& strategy);

/// Whether anything at all is copied to the host.
bool uses_host(const Strategy& strategy);
/// Whether drives are.
bool uses_drives(const Strategy& strategy);

/// With ActivationsAt::peer: the stage that keeps activations for the first half's `stage`, and
/// that has as many fewer in flight as this one has more; -1 for none.
int keeper_of(const Strategy& strategy, int stage);

/// Layers of a chunk of `layers` whose activations wait elsewhere for their backward.
int layers_elsewhere(const Strategy& strategy, int stage, int layers);

/// One rank's copy, size to be set.
Communication host_copy(GroupAxis axis, Stream way);

/// The copy that brings a rank's shard of parameters to its device.
Communication parameter_copy(const Strategy& strategy);

/// How the states of one rank that `all` tells, `whole` elements of them not sharded, are divided.
StateBytes states_on_device(const StateBytes& all, const Strategy& strategy, std::int64_t whole);
StateBytes states_on_host(const StateBytes& all, const Strategy& strategy, std::int64_t whole);
StateBytes states_on_drives(const StateBytes& all, const Strategy& strategy, std::int64_t whole);

/// Host memory that one optimizer step moves for an element: gradient read, states read and
/// written, weight written.   [arXiv:2101.06840, sec. 5.1]
int host_traffic(const Strategy& strategy);

/// Parameters that the processors of `node` step in a second: as the strategy says, or else the
/// share of the memory's bandwidth that CPU-Adam reaches, over host_traffic().
double host_rate(const Strategy& strategy, const cost::Topology& topology, std::int32_t node);

}  // namespace tsim::strategies
