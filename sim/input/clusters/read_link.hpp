// The figures of one link, wherever a cluster states one.
#pragma once

#include <optional>

#include "cost/wiring/node_design.hpp"
#include "sim/input/json_reader.hpp"

namespace tsim::sim {

/// What a link is, and what holds where keys are left out.
struct LinkRule {
  cost::LinkKind kind{};
  std::optional<cost::LinkSpec> otherwise = {};  // none: bandwidth and latency must be given
  bool full_duplex = true;                       // unless "duplex" says otherwise
};

/// Takes "bandwidth" (a rate, or "unlimited", and then the latency may be left out), "latency",
/// "duplex" and, of device links, "lanes".
cost::LinkSpec read_link_keys(Reader& in, const LinkRule& rule);

/// An object with these keys alone; `rule.otherwise`, or an unlimited link, where there is none.
cost::LinkSpec read_link(const Place& place, const LinkRule& rule);

/// The same, but that there is none is a problem.
cost::LinkSpec required_link(const Place& place, const LinkRule& rule);

}  // namespace tsim::sim
