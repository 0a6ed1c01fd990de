#include "sim/ideal_network.hpp"

#include <algorithm>

#include "sim/comm_load.hpp"

namespace tsim::sim {

namespace {
// Turns the standard max-heap into one whose front is the earliest event.
constexpr auto kLater = [](const auto& a, const auto& b) {
  return a.time != b.time ? a.time > b.time : a.order > b.order;
};
}  // namespace

IdealNetwork::IdealNetwork(const strategies::TaskGraph& graph,
                           std::span<const cost::Channel> channels) {
  durations_.reserve(graph.comms.size());
  for (const strategies::Comm& comm : graph.comms) {
    durations_.push_back(comm.latency.value + transfer_alone(comm, channels));
  }
}

void IdealNetwork::start_wait(Seconds duration, strategies::TaskId task) {
  heap_.push_back({now_ + duration.value, started_++, task});
  std::push_heap(heap_.begin(), heap_.end(), kLater);
}

void IdealNetwork::start_comm(std::uint32_t comm, strategies::TaskId task) {
  start_wait({durations_[comm]}, task);
}

void IdealNetwork::run() {
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), kLater);
    const Event event = heap_.back();
    heap_.pop_back();
    now_ = event.time;
    done_(event.task);
  }
}

}  // namespace tsim::sim
