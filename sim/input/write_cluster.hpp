// Clusters as documents that read_cluster reads back to the same.
#pragma once

#include "cost/build_cluster.hpp"
#include "sim/input/read_document.hpp"

namespace tsim::sim {

/// A device as read_device takes it: the name of one that comes with tsim, else all its figures.
Json to_json(const cost::Device& device);

/// The design form: kinds of device, groups of nodes, fabric, tuning.
Json to_json(const cost::ClusterDesign& design);

/// The graph form: kinds of device, vertices, links, devices.
Json to_json(const cost::Cluster& cluster);

}  // namespace tsim::sim
