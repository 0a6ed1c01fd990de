// What one collective on a cluster takes, size by size, alone or beside others.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cost/collectives.hpp"
#include "cost/programs/program.hpp"

namespace tsim::sim {

/// One collective: rank i on devices[i].
struct NetOp {
  cost::CollectiveOp op{};
  std::string algorithm = "auto";
  std::vector<int> devices;
  std::vector<int> servers{};  // of a parameter server, which pushes and pulls through these; an
                               // all_reduce then, and `algorithm` is not read
  std::optional<cost::CollectiveProgram> program{};  // runs instead, step by step
};

/// A collective of one size that starts at the same time on the same wires.
struct Beside {
  NetOp op;
  Bytes size;
};

struct NetRequest {
  NetOp op;
  bool steps = false;  // every step an event; else flows with the steps added up
  std::vector<Beside> beside;
};

struct NetRow {
  Bytes size;
  Seconds time;
  Seconds alone;  // the same without the others
  std::string algorithm, protocol;
  std::vector<Seconds> beside;        // times of the others
  std::vector<double> channel_bytes;  // payload, by channel of the topology, of all that ran
  std::vector<double> wire_seconds;   // by channel: what it needs for them, protocol included
};

/// bytes/s. 0 for no time or no bytes.
double algorithm_bandwidth(const NetRow& row);
double bus_bandwidth(const NetRow& row, const NetOp& op);

/// Runs one size. Throws std::invalid_argument for an algorithm that the devices cannot run or that
/// has no steps though steps were asked for, and cost::Unreachable.
NetRow net_row(const NetRequest& request, Bytes size, cost::Router& router);

}  // namespace tsim::sim
