// Parts that both written forms of a cluster share.
#pragma once

#include "cost/build_cluster.hpp"
#include "sim/input/read_document.hpp"

namespace tsim::sim {

/// Sets bandwidth, latency, duplex and lanes in `object`. `full_duplex`: what a reader takes where
/// nothing is said.
void set_link_keys(Json& object, const cost::LinkSpec& link, bool full_duplex = true);

Json link_json(const cost::LinkSpec& link, bool full_duplex = true);

/// A measured tuning's name, else all its regimes.
Json to_json(const cost::Tuning& tuning);

/// Sets name, "device" or "kinds", and tuning.
void set_common_keys(Json& object, const std::string& name,
                     const std::vector<cost::Device>& devices, const cost::Tuning& tuning);

}  // namespace tsim::sim
