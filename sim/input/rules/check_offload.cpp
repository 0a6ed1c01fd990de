// Rules of what saves device memory: offload, recomputation by layers, partitions and tiles.
#include <algorithm>
#include <set>

#include "sim/input/rules/check.hpp"
#include "sim/input/rules/check_scenario.hpp"
#include "strategies/schedule.hpp"

namespace tsim::sim {
namespace {

using strategies::ActivationsAt;
using strategies::Offload;
using strategies::Recompute;
using strategies::RecomputeMethod;
using strategies::StatesAt;
using strategies::Strategy;

std::string quoted(std::string_view name) { return "\"" + std::string(name) + "\""; }

/// The optimizer steps on the host what the rank owns, and the host keeps what is sharded.
void check_states(const Check& check) {
  const Strategy& s = check.scenario.strategy;
  const Offload& o = s.offload;
  const bool on_host = steps_on_host(s);
  if (on_host && replica_count(s) > 1 && s.zero.stage == 0) {
    check.fail("/strategy/offload/optimizer", quoted(name_of(o.optimizer)),
               "\"none\" with zero = 0 and several replicas, as every host would step all",
               "zero = 1, 2 or 3 shards the optimizer");
  }
  if (on_host && steps_each(s)) {
    check.fail("/strategy/offload/optimizer", quoted(name_of(o.optimizer)),
               "\"none\" with schedule " + quoted(s.schedule) +
                   ", whose stages step after every micro-batch");
  }
  if (o.parameters == StatesAt::device) { return; }
  if (s.zero.stage < 3) {
    check.fail("/strategy/offload/parameters", quoted(name_of(o.parameters)),
               "\"none\" with zero = " + text(s.zero.stage),
               "zero = 3 gathers parameters by block");
  }
  if (!on_host) {
    check.fail("/strategy/offload/parameters", quoted(name_of(o.parameters)),
               R"("none" unless the optimizer is on the host, too)", R"("optimizer": "cpu")");
  }
}

/// Settings that only one kind of offload reads.
void check_keys(const Check& check) {
  const Strategy& s = check.scenario.strategy;
  const Offload& o = s.offload;
  const auto unused = [&](const char* key, bool given, bool used, const char* what) {
    if (!given || used) { return; }
    check.fail("/strategy/offload/" + std::string(key), "a value",
               "nothing without " + std::string(what));
  };
  unused("layers", o.layers > 0, o.activations != ActivationsAt::device, "offloaded activations");
  unused("cpu_rate", o.cpu_rate > 0, steps_on_host(s), "an optimizer on the host");
  unused("host_memory", o.host_memory.value > 0, uses_host(s), "anything on the host");
  if (!check.scenario.workload.training &&
      (uses_host(s) || o.activations != ActivationsAt::device)) {
    check.fail("/strategy/offload", "something to offload", "nothing with mode \"forward\"");
  }
}

/// Whether activations are followed through phases that are not cut in two.
void need_whole_backwards(const Check& check, const std::string& path, const std::string& found) {
  const Strategy& s = check.scenario.strategy;
  const strategies::Schedule* schedule = strategies::schedule_named(s.schedule);
  const bool twice = strategies::shape_of(s, 1).placement == strategies::Placement::bidirectional;
  if (schedule != nullptr && !schedule->splits_backward && !twice) { return; }
  check.fail(path, found,
             "another value with schedule " + quoted(s.schedule) +
                 ": one by name is needed that holds the model once and runs backwards whole",
             R"("1f1b" or "interleaved")");
}

void check_activations(const Check& check) {
  const Strategy& s = check.scenario.strategy;
  if (s.offload.activations == ActivationsAt::device) { return; }
  const std::string found = quoted(name_of(s.offload.activations));
  need_whole_backwards(check, "/strategy/offload/activations", found);
  if (s.tiling > 1) {
    check.fail("/strategy/tiling", text(s.tiling), "1 with offloaded activations");
  }
  if (s.offload.activations != ActivationsAt::peer) { return; }
  if (s.pipeline < 2 || s.chunks > 1) {
    check.fail(
        "/strategy/offload/activations", found,
        "a pipeline of at least 2 stages with one chunk each, as early stages use the memory "
        "of late ones");
  }
}

void check_recompute(const Check& check) {
  const Strategy& s = check.scenario.strategy;
  const std::int64_t layers = layer_count(check.scenario.model);
  if (s.recompute_method == RecomputeMethod::fit) {
    need_whole_backwards(check, "/strategy/recompute", "\"fit\"");
    if (s.offload.activations != ActivationsAt::device) {
      check.fail("/strategy/recompute", "\"fit\"", "another value with offloaded activations");
    }
  }
  if (!check.scenario.workload.training && s.recompute_method != RecomputeMethod::every) {
    check.fail("/strategy/recompute", quoted(name_of(s.recompute_method)),
               R"("none" with mode "forward", which keeps nothing to compute again)");
  }
  if (s.recompute_method == RecomputeMethod::uniform && s.recompute_layers > 1 &&
      (s.zero.stage == 3 || s.recompute != Recompute::full)) {
    check.fail("/strategy/recompute/layers", text(s.recompute_layers),
               "1 with zero = 3, or with another kind than \"full\"");
  }
  if (s.recompute_layers > layers) {
    check.fail("/strategy/recompute/layers", text(s.recompute_layers),
               "at most " + text(layers) + " (layers of the model)");
  }
  for (const int layer : s.recompute_list) {
    if (layer < layers) { continue; }
    check.fail("/strategy/recompute/layers", text(layer), "layers from 0 to " + text(layers - 1));
  }
}

void check_parts(const Check& check) {
  const Strategy& s = check.scenario.strategy;
  if (s.partition_activations &&
      (s.tensor == 1 || s.sequence_parallel || s.recompute != Recompute::full)) {
    check.fail("/strategy/partition_activations", "true",
               "false unless tensor > 1, recompute keeps inputs of layers (\"full\") and "
               "sequence_parallel does not cut them already");
  }
  if (s.tiling > 1 && s.zero.stage < 3) {
    check.fail("/strategy/tiling", text(s.tiling), "1 with zero = " + text(s.zero.stage),
               "zero = 3 gathers parameters");
  }
}

}  // namespace

void check_offload(const Check& check) {
  if (!check.clean({"/strategy"})) { return; }
  check_states(check);
  check_keys(check);
  check_activations(check);
  if (check.clean({"/model", "/workload"})) { check_recompute(check); }
  check_parts(check);
}

void check_hosts(const Scenario& scenario, Problems& problems) {
  const Problems read = problems;
  const Check check{scenario, read, problems};
  const Strategy& s = check.scenario.strategy;
  const cost::Topology& t = check.scenario.cluster.topology;
  const auto need = [&](bool used, cost::VertexKind kind, const std::string& hint) {
    if (!used) { return; }
    std::set<std::int32_t> with;
    for (const cost::Vertex& v : t.vertices) {
      if (v.kind == kind) { with.insert(v.node); }
    }
    for (int d = 0; d < static_cast<int>(t.devices.size()); ++d) {
      if (with.contains(node_of(t, d))) { continue; }
      check.fail("/strategy/offload",
                 "a node (of device " + text(d) + ") without " +
                     std::string(kind == cost::VertexKind::nvme ? "drives" : "host memory"),
                 "a cluster that states them", hint);
      return;
    }
  };
  need(uses_host(s), cost::VertexKind::host_memory,
       "host.memory of a node and the devices' slots, as in clusters/dgx_a100_pod.json");
  need(uses_drives(s), cost::VertexKind::nvme, "drives of a node, each in a slot");
}

}  // namespace tsim::sim
