// What `net` prints.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "cost/topology.hpp"
#include "sim/net/net_run.hpp"

namespace tsim::cli {

/// The rows of one algorithm (or of the automatic choice), sizes as in the others'.
struct NetSeries {
  std::string algorithm;
  std::vector<sim::NetRow> rows;
};

struct NetAnswer {
  const cost::Cluster* cluster = nullptr;
  const sim::NetRequest* request = nullptr;
  std::string op;                 // as it was asked for
  std::vector<NetSeries> series;  // at least one, with at least one row each
  bool links = false;
};

/// A table shaped as nccl-tests prints it, without the columns of the second, in-place run.
void print_net_text(const NetAnswer& answer, std::ostream& out);
void print_net_csv(const NetAnswer& answer, std::ostream& out);
void print_net_json(const NetAnswer& answer, std::ostream& out);
/// Time and bus bandwidth against size, both axes logarithmic.
void print_net_svg(const NetAnswer& answer, std::ostream& out);

/// A channel by its load.
struct LinkUse {
  std::string name;
  double bytes = 0;
  double utilisation = 0;  // of its bandwidth, while the collective ran
};
/// Channels that carried something, the busiest first.
std::vector<LinkUse> link_uses(const sim::NetRow& row, const cost::Topology& topology);

/// Elements of 4 bytes that nccl-tests counts for a size: those of one rank where each has a part.
std::int64_t element_count(cost::CollectiveOp op, Bytes size, int ranks);

}  // namespace tsim::cli
