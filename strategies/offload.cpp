#include "strategies/offload.hpp"

#include <algorithm>

#include "strategies/memory.hpp"
#include "strategies/strategy.hpp"

namespace tsim::strategies {
namespace {

/// Ten billion parameters in 2.57 s at 28 bytes each, of six channels of DDR4-2666 (128 GB/s) on
/// each of two sockets.   [arXiv:2101.06840, sec. 6.1 and table 4]
constexpr double kMemoryShare = 10e9 / 2.57 * 28 / 256e9;

}  // namespace

std::string_view name_of(StatesAt at) {
  switch (at) {
    case StatesAt::device: return "none";
    case StatesAt::cpu: return "cpu";
    case StatesAt::nvme: return "nvme";
  }
  return "";
}

std::string_view name_of(ActivationsAt at) {
  switch (at) {
    case ActivationsAt::device: return "none";
    case ActivationsAt::cpu: return "cpu";
    case ActivationsAt::peer: return "peer";
  }
  return "";
}

bool steps_on_host(const Strategy& s) { return s.offload.optimizer != StatesAt::device; }

bool uses_host(const Strategy& s) {
  return steps_on_host(s) || s.offload.parameters != StatesAt::device ||
         s.offload.activations == ActivationsAt::cpu;
}

bool uses_drives(const Strategy& s) {
  return s.offload.optimizer == StatesAt::nvme || s.offload.parameters == StatesAt::nvme;
}

int keeper_of(const Strategy& s, int stage) {
  const bool first_half = 2 * stage + 1 < s.pipeline;
  return s.offload.activations == ActivationsAt::peer && first_half ? s.pipeline - 1 - stage : -1;
}

int layers_elsewhere(const Strategy& s, int stage, int layers) {
  const bool none = s.offload.activations == ActivationsAt::device ||
                    (s.offload.activations == ActivationsAt::peer && keeper_of(s, stage) < 0);
  if (none) { return 0; }
  return s.offload.layers > 0 ? std::min(s.offload.layers, layers) : layers - 1;
}

Communication host_copy(GroupAxis axis, Stream way) {
  return {cost::CollectiveOp::send_recv, {axis}, way, {}};
}

Communication parameter_copy(const Strategy& s) {
  const bool drives = s.offload.parameters == StatesAt::nvme;
  return host_copy(drives ? GroupAxis::drive : GroupAxis::host_memory, Stream::copy_in);
}

StateBytes states_on_device(const StateBytes& all, const Strategy& s, std::int64_t whole) {
  StateBytes here = all;
  if (steps_on_host(s)) {
    here.optimizer = {};
    if (syncs_every(s)) { here.gradients = {}; }
  }
  if (s.offload.parameters != StatesAt::device) {
    here.parameters = whole * Bytes{size_of(kept_weights(s.precision))};
    here.frozen = {};
  }
  return here;
}

StateBytes states_on_host(const StateBytes& all, const Strategy& s, std::int64_t whole) {
  StateBytes here;
  if (!steps_on_host(s)) { return here; }
  here.gradients = all.gradients;
  if (s.offload.optimizer == StatesAt::cpu) { here.optimizer = all.optimizer; }
  if (s.offload.parameters == StatesAt::cpu) {
    here.parameters = all.parameters - whole * Bytes{size_of(kept_weights(s.precision))};
  }
  return here;
}

StateBytes states_on_drives(const StateBytes& all, const Strategy& s, std::int64_t whole) {
  StateBytes here;
  if (s.offload.optimizer == StatesAt::nvme) { here.optimizer = all.optimizer; }
  if (s.offload.parameters == StatesAt::nvme) {
    here.parameters = all.parameters - whole * Bytes{size_of(kept_weights(s.precision))};
  }
  return here;
}

int host_traffic(const Strategy& s) {
  const StateSizes sizes = state_sizes(s.precision, s.optimizer);
  return sizes.gradient + 2 * sizes.optimizer + sizes.parameter;
}

double host_rate(const Strategy& s, const cost::Topology& topology, std::int32_t node) {
  if (s.offload.cpu_rate > 0) { return s.offload.cpu_rate; }
  double bandwidth = 0;
  for (const cost::Link& link : topology.links) {
    const auto& a = topology.vertices[static_cast<std::size_t>(link.a)];
    if (link.kind == cost::LinkKind::memory && a.node == node) {
      bandwidth += link.bandwidth.value;
    }
  }
  return kMemoryShare * bandwidth / host_traffic(s);
}

}  // namespace tsim::strategies
