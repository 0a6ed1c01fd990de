#include "sim/steps/step_network.hpp"

#include <algorithm>
#include <utility>

#include "sim/steps/event_queue.hpp"
#include "sim/steps/max_min.hpp"

namespace tsim::sim {

using strategies::TaskId;

class StepNetwork::Impl {
 public:
  Impl(std::span<const StepComm> comms, std::span<const cost::Channel> channels)
      : comms_(comms), wires_(channels) {}

  void start_comm(std::uint32_t comm, TaskId task) {
    const StepComm& c = comms_[comm];
    const std::uint32_t id = take(instances_, free_instances_);
    Instance& instance = instances_[id];
    instance.comm = &c;
    instance.task = task;
    instance.least_end = now + c.least;
    instance.left = c.sends.size();
    instance.waits = c.waits;
    instance.lines.assign(c.connections.size(), Line{});
    instance.next.resize(c.sends.size());
    events.push(now + c.before, EventKind::begin, id);
  }

  void run() {
    settle();
    while (!events.empty()) {
      now = events.next_time();
      while (!events.empty() && events.next_time() == now) { handle(events.pop()); }
      settle();
    }
  }

  Done on_done;
  double now = 0;
  EventQueue events;

 private:
  static constexpr std::uint32_t kNone = 0xffffffffU;

  /// A connection's state: busy while bytes of a send leave; sends that are ready queue behind it.
  struct Line {
    std::uint32_t head = kNone, tail = kNone;
    bool busy = false;
  };

  /// A running communication.
  struct Instance {
    const StepComm* comm = nullptr;
    TaskId task = 0;
    double least_end = 0;
    std::size_t left = 0;              // sends that have not arrived
    std::vector<std::uint32_t> waits;  // by send: others that have not arrived
    std::vector<Line> lines;           // by connection
    std::vector<std::uint32_t> next;   // by send: the one behind it in its line
  };

  /// A send under way.
  struct Flight {
    std::uint32_t instance = 0, send = 0;
  };

  template <class T>
  static std::uint32_t take(std::vector<T>& all, std::vector<std::uint32_t>& free) {
    if (free.empty()) {
      all.emplace_back();
      return static_cast<std::uint32_t>(all.size() - 1);
    }
    const std::uint32_t id = free.back();
    free.pop_back();
    return id;
  }

  void handle(const Event& event) {
    switch (event.kind()) {
      case EventKind::wait: on_done(event.id()); break;
      case EventKind::begin: begin(event.id()); break;
      case EventKind::sent:
        // An older event of a flow whose rate has changed since, or that has ended, is void.
        if (flow_event_[event.id()] == event.order) { sent(event.id()); }
        break;
      case EventKind::arrived: arrived(event.id()); break;
      case EventKind::over: over(event.id()); break;
    }
  }

  void settle() {
    if (!wires_.changed()) { return; }
    wires_.settle(now);
    for (const MaxMin::FlowId flow : wires_.rescheduled()) {
      flow_event_[flow] = events.push(wires_.end_time(flow), EventKind::sent, flow);
    }
  }

  void begin(std::uint32_t id) {
    const StepComm& comm = *instances_[id].comm;
    if (comm.sends.empty()) { end(id); }
    for (std::uint32_t send = 0; send < comm.sends.size(); ++send) {
      if (comm.waits[send] == 0) { ready(id, send); }
    }
  }

  void ready(std::uint32_t id, std::uint32_t send) {
    Instance& instance = instances_[id];
    Line& line = instance.lines[instance.comm->sends[send].connection];
    if (!line.busy) {
      leave(id, send);
    } else if (line.head == kNone) {
      line.head = line.tail = send;
    } else {
      instance.next[line.tail] = send;
      line.tail = send;
    }
    instance.next[send] = kNone;
  }

  void leave(std::uint32_t id, std::uint32_t send) {
    Instance& instance = instances_[id];
    const Send& s = instance.comm->sends[send];
    const Connection& connection = instance.comm->connections[s.connection];
    const std::uint32_t flight = take(flights_, free_flights_);
    flights_[flight] = {id, send};
    if (connection.path.empty() || s.bytes <= 0) {
      events.push(now + connection.latency, EventKind::arrived, flight);
      return;
    }
    instance.lines[s.connection].busy = true;
    const MaxMin::FlowId flow = wires_.start(connection.path, s.bytes);
    if (flow >= flight_of_.size()) {
      flight_of_.resize(flow + 1);
      flow_event_.resize(flow + 1);
    }
    flight_of_[flow] = flight;
  }

  /// The last byte has left: the connection is free for the next send.
  void sent(MaxMin::FlowId flow) {
    const std::uint32_t flight = flight_of_[flow];
    wires_.end(flow);
    flow_event_[flow] = 0;
    const auto [id, send] = flights_[flight];
    Instance& instance = instances_[id];
    const std::uint32_t connection = instance.comm->sends[send].connection;
    events.push(now + instance.comm->connections[connection].latency, EventKind::arrived, flight);
    Line& line = instance.lines[connection];
    line.busy = false;
    while (!line.busy && line.head != kNone) {
      const std::uint32_t next = line.head;
      line.head = instance.next[next];
      leave(id, next);
    }
  }

  void arrived(std::uint32_t flight) {
    const auto [id, send] = flights_[flight];
    free_flights_.push_back(flight);
    Instance& instance = instances_[id];
    const StepComm& comm = *instance.comm;
    for (std::uint32_t i = comm.first[send]; i < comm.first[send + 1]; ++i) {
      const std::uint32_t next = comm.successor[i];
      if (--instance.waits[next] == 0) { ready(id, next); }
    }
    if (--instance.left == 0) { end(id); }
  }

  void end(std::uint32_t id) {
    const double least = instances_[id].least_end;
    if (least > now) {
      events.push(least, EventKind::over, id);
    } else {
      over(id);
    }
  }

  void over(std::uint32_t id) {
    const TaskId task = instances_[id].task;
    free_instances_.push_back(id);
    on_done(task);
  }

  std::span<const StepComm> comms_;
  MaxMin wires_;
  std::vector<Instance> instances_;
  std::vector<std::uint32_t> free_instances_;
  std::vector<Flight> flights_;
  std::vector<std::uint32_t> free_flights_;
  std::vector<std::uint32_t> flight_of_;   // by flow
  std::vector<std::uint32_t> flow_event_;  // by flow: the order of the event that ends it
};

StepNetwork::StepNetwork(std::span<const StepComm> comms, std::span<const cost::Channel> channels)
    : impl_(std::make_unique<Impl>(comms, channels)) {}
StepNetwork::~StepNetwork() = default;
void StepNetwork::on_done(Done done) { impl_->on_done = std::move(done); }
Seconds StepNetwork::now() const { return {impl_->now}; }
void StepNetwork::run() { impl_->run(); }

void StepNetwork::start_wait(Seconds duration, TaskId task) {
  impl_->events.push(impl_->now + duration.value, EventKind::wait, task);
}

void StepNetwork::start_comm(std::uint32_t comm, TaskId task) { impl_->start_comm(comm, task); }

}  // namespace tsim::sim
