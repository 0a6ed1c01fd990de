// Communications as single sends that wait for each other: what the step network runs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cost/collectives.hpp"
#include "cost/programs/program.hpp"
#include "strategies/task_graph.hpp"

namespace tsim::sim {

/// From one rank to another; its sends go over the wires one after the other, but the next one may
/// leave before the one before has arrived.
struct Connection {
  std::vector<cost::ChannelId> path;  // empty: within a device, or over wires that never limit
  double latency = 0;                 // from the last byte sent to its arrival
};

struct Send {
  std::uint32_t connection = 0;
  double bytes = 0;
};

/// One communication: after `before`, sends that wait for no other start; it is over when all have
/// arrived, but not earlier than `least` after it was started.
struct StepComm {
  std::vector<Connection> connections;
  std::vector<Send> sends;
  std::vector<std::uint32_t> waits;      // by send: how many others it waits for
  std::vector<std::uint32_t> first;      // compressed rows: those that wait for send i are
  std::vector<std::uint32_t> successor;  // successor[first[i] .. first[i + 1])
  double before = 0, least = 0;          // seconds
};

/// The steps of `program`, rank i on devices[i], with a library's costs. The program has no fault.
StepComm step_comm(const cost::CollectiveProgram& program, std::span<const int> devices,
                   Bytes payload, const cost::StepCosts& costs, cost::Router& router);

/// A communication that has no steps: all its flows at once.
StepComm aggregated_comm(const strategies::Comm& comm);

/// Bytes by channel that a communication moves.
std::vector<double> channel_bytes(const StepComm& comm, std::size_t channels);

}  // namespace tsim::sim
