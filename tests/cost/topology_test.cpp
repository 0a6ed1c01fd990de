#include "cost/topology.hpp"

#include <doctest/doctest.h>

using namespace tsim::cost;

namespace {

/// gpu0 - gpu1 full duplex, gpu1 - host half duplex, host - gpu0 unlimited.
Topology triangle() {
  Topology t;
  t.vertices = {{VertexKind::device, "a", 3},
                {VertexKind::device, "b", 3},
                {VertexKind::host_memory, "h", 3}};
  t.links = {{LinkKind::nvlink, 0, 1, {4e9}, {1e-6}, true},
             {LinkKind::memory, 1, 2, {2e9}, {1e-6}, false},
             {LinkKind::other, 2, 0, kUnlimited, {}, true}};
  t.devices = {0, 1};
  finish(t);
  return t;
}

}  // namespace

TEST_CASE("a full-duplex link has a channel for each direction") {
  const Topology t = triangle();
  CHECK(t.channels[0].name == "a -> b");
  CHECK(t.channels[1].name == "b -> a");
  CHECK(t.forward_channel[0] == 0);
  CHECK(t.backward_channel[0] == 1);
  CHECK(t.channels[1].bandwidth.value == 4e9);
}

TEST_CASE("both directions of a half-duplex link share one channel") {
  const Topology t = triangle();
  CHECK(t.forward_channel[1] == t.backward_channel[1]);
  CHECK(t.channels[2].name == "b <-> h");
}

TEST_CASE("a link that never limits has no channel") {
  const Topology t = triangle();
  CHECK(t.channels.size() == 3);
  CHECK(t.forward_channel[2] == kNoChannel);
  CHECK(t.backward_channel[2] == kNoChannel);
}

TEST_CASE("devices know their node, and are of the first kind unless told otherwise") {
  const Topology t = triangle();
  CHECK(node_of(t, 1) == 3);
  CHECK(t.device_kind == std::vector<std::int32_t>{0, 0});
  Cluster cluster;
  cluster.topology = t;
  CHECK(device_count(cluster) == 2);
}

TEST_CASE("finishing a topology twice changes nothing") {
  Topology t = triangle();
  finish(t);
  CHECK(t.channels.size() == 3);
}

TEST_CASE("every kind of vertex and link has a name of its own") {
  CHECK(name_of(VertexKind::device) == "device");
  CHECK(name_of(VertexKind::nvme) == "nvme");
  CHECK(name_of(LinkKind::nvlink) == "nvlink");
  CHECK(name_of(LinkKind::other) == "other");
}
