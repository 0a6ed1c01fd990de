#include "sim/simgrid_network.hpp"

#include <algorithm>
#include <csignal>
#include <deque>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>

#include "sim/least_makespan.hpp"
#include "sim/planned_events.hpp"

namespace tsim::sim {

namespace sg = simgrid::s4u;
using cost::ChannelId;
using simgrid::kernel::timer::Timer;
using strategies::TaskGraph;
using strategies::TaskId;

namespace {

// SimGrid merges events that are closer than this many of its seconds. It must stay above the
// rounding of its clock (2e-16 of it), or an event could fall between two clock values and hang.
constexpr double kPrecision = 1e-12;
// The run's least makespan is mapped to 8..16 of SimGrid's seconds: it may then last 256 times as
// long before its clock's rounding reaches kPrecision.
constexpr double kLeastMakespan = 8.0;
// The largest flow is mapped to 2^60..2^61 of SimGrid's bytes, which are whole numbers.
constexpr double kLargestFlow = 0x1p60;

std::unique_ptr<sg::Engine> make_engine() {
  if (sg::Engine::has_instance()) { throw std::logic_error("two SimGrid networks at a time"); }
  // Read by the first engine of a process only; the settings stay for the later ones.
  std::vector<std::string> words{
      "tsim",
      "--log=root.thres:critical",
      "--cfg=network/model:CM02",
      "--cfg=network/crosstraffic:0",  // acknowledgements take no share of the way back
      "--cfg=network/TCP-gamma:0",     // no bound by a TCP window
      "--cfg=maxmin/precision:1e-12",
      "--cfg=surf/precision:1e-12"};  // kPrecision
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) { argv.push_back(word.data()); }
  argv.push_back(nullptr);
  int argc = static_cast<int>(words.size());
  // SimGrid takes over interrupts, faults and uncaught exceptions: the program's own affair.
  const auto terminate = std::get_terminate();
  const auto interrupt = std::signal(SIGINT, SIG_DFL);
  const auto fault = std::signal(SIGSEGV, SIG_DFL);
  auto engine = std::make_unique<sg::Engine>(&argc, argv.data());
  std::set_terminate(terminate);
  std::signal(SIGINT, interrupt);
  std::signal(SIGSEGV, fault);
  return engine;
}

}  // namespace

class SimGridNetwork::Impl {
 public:
  /// A flow in SimGrid, and the communication that it is a part of.
  struct Slot {
    sg::CommPtr flow;
    std::uint32_t instance = 0;
  };

  Impl(const TaskGraph& graph, std::span<const cost::Channel> channels)
      : loads_(comm_loads(graph, channels)),
        time_scale_(scale_to(kLeastMakespan, least_makespan(graph, loads_, channels))),
        byte_scale_(scale_to(kLargestFlow, largest_flow(loads_))),
        engine_(make_engine()),
        origin_(sg::Engine::get_clock()),
        users_(channels.size()) {
    build_platform(channels);
  }

  void wait(double seconds, TaskId task) {
    plan(clock() + seconds * time_scale_, EventKind::task_done, task);
  }

  void start_comm(std::uint32_t comm, TaskId task) {
    const CommLoad& load = loads_.comms[comm];
    if (load.flows.empty()) {
      wait(load.latency + load.alone, task);
      return;
    }
    const std::uint32_t id = take_instance();
    instances_[id].task = task;
    instances_[id].comm = comm;
    if (load.latency > 0) {
      plan(clock() + load.latency * time_scale_, EventKind::transfer_begins, id);
    } else {
      begin_transfer(id);
    }
  }

  /// A flow has ended. SimGrid still uses the flow after this call, so its slot, which holds the
  /// last reference, is offered for reuse only at the next call.
  void flow_ended(Slot& slot) {
    if (last_ended_ != nullptr) { free_slots_.push_back(last_ended_); }
    last_ended_ = &slot;
    --flows_;
    part_ended(slot.instance);
    set_alarm();
  }

  double now() const { return (clock() - origin_) / time_scale_; }

  /// While no flows share wires the clock goes from event to event; SimGrid's follows when some do.
  void run() {
    while (!planned_.empty() || !starting_.empty()) {
      if (starting_.empty()) {
        take_next();
      } else {
        share_wires();
      }
    }
  }

  Done on_done;
  std::uint64_t flows_shared = 0;

 private:
  /// A running communication that may meet others. It is one event until it does; from then on its
  /// private flows, and the parts that have met nobody, are one.
  struct Instance {
    TaskId task = 0;
    std::uint32_t comm = 0;
    std::uint32_t left = 0;    // flows and events that have not ended
    std::uint64_t event = 0;   // the end of what has met nobody; 0: none
    double alone_end = 0;      // SimGrid's clock then
    bool split = false;        // whether it has met another
    double split_at = 0;       // when it did,
    double fraction = 0;       // and what was left of it then
    std::vector<char> shared;  // by part, once split: whether its flows are SimGrid's
  };

  /// A part of a running communication.
  struct User {
    std::uint32_t instance = 0, part = 0;
    bool operator==(const User&) const = default;
  };

  enum class EventKind : std::uint8_t { task_done, transfer_begins, alone_ends };
  using Event = PlannedEvents<EventKind>::Event;
  struct Start {
    std::uint32_t path = 0;
    double bytes = 0;
    std::uint32_t instance = 0;
  };

  double clock() const { return sharing_ ? sg::Engine::get_clock() : clock_; }

  /// `what`: a task or an instance.
  std::uint64_t plan(double at, EventKind kind, std::uint32_t what) {
    return planned_.add(at, kind, what);
  }

  void take_next() {
    const Event event = planned_.take();
    if (!sharing_) { clock_ = std::max(clock_, event.at); }
    switch (event.kind) {
      case EventKind::task_done: done(event.what); break;
      case EventKind::transfer_begins: begin_transfer(event.what); break;
      case EventKind::alone_ends:
        if (instances_[event.what].event == event.number) { alone_ended(event.what); }
        break;
    }
  }

  /// SimGrid runs from now until no flow is under way.
  void share_wires() {
    Timer::set(clock_, [this] {
      sharing_ = true;
      for (const Start& start : starting_) { start_flow(start); }
      starting_.clear();
      set_alarm();
    });
    engine_->run();
    clock_ = std::max(clock_, sg::Engine::get_clock());
    sharing_ = false;
  }

  /// SimGrid has one timer, for the next event, and none when its flows have ended.
  void set_alarm() {
    const bool wanted = flows_ > 0 && !planned_.empty();
    if (alarm_ != nullptr && (!wanted || alarm_->get_date() > planned_.next())) {
      alarm_->remove();
      alarm_ = nullptr;
    }
    if (!wanted || alarm_ != nullptr) { return; }
    alarm_ = Timer::set(planned_.next(), [this] {
      alarm_ = nullptr;
      while (!planned_.empty() && planned_.next() <= clock()) { take_next(); }
      set_alarm();
    });
  }

  /// One star: a host for each distinct path, whose way out is the path itself, and a sink.
  /// Links have no latency: CM02 would share unevenly between paths of unequal latency.
  void build_platform(std::span<const cost::Channel> channels) {
    auto* zone = sg::create_star_zone("wires");
    sink_ = zone->create_host("sink", 1.0);
    zone->add_route(nullptr, sink_->get_netpoint(), nullptr, nullptr,
                    std::vector<sg::LinkInRoute>{}, false);
    std::vector<sg::Link*> links(channels.size());
    for (std::size_t p = 0; p < loads_.paths.size(); ++p) {
      std::vector<sg::LinkInRoute> route;
      for (const ChannelId c : loads_.paths[p]) {
        const auto channel = static_cast<std::size_t>(c);
        if (links[channel] == nullptr) {
          const double rate = channels[channel].bandwidth.value * byte_scale_ / time_scale_;
          links[channel] = zone->create_link("c" + std::to_string(c), rate)->set_latency(0)->seal();
        }
        route.emplace_back(links[channel]);
      }
      sources_.push_back(zone->create_host("p" + std::to_string(p), 1.0));
      zone->add_route(sources_.back()->get_netpoint(), nullptr, nullptr, nullptr, route, false);
    }
    zone->seal();
  }

  void done(TaskId task) { on_done(task); }

  std::uint32_t take_instance() {
    if (free_instances_.empty()) {
      instances_.emplace_back();
      return static_cast<std::uint32_t>(instances_.size() - 1);
    }
    const std::uint32_t id = free_instances_.back();
    free_instances_.pop_back();
    return id;
  }

  /// The latency is over: the bytes start to move.
  void begin_transfer(std::uint32_t id) {
    const CommLoad& load = loads_.comms[instances_[id].comm];
    std::vector<std::uint32_t> met;
    for (const MeetingChannel& m : load.meeting) {
      auto& users = users_[static_cast<std::size_t>(m.channel)];
      bool here = false;
      for (const User& other : users) { here = share(other) || here; }
      if (here) { met.push_back(m.part); }
      users.push_back({id, m.part});
    }
    Instance& self = instances_[id];
    self.left = 1;
    self.split = false;
    self.alone_end = clock() + load.alone * time_scale_;
    self.event = plan(self.alone_end, EventKind::alone_ends, id);
    for (const std::uint32_t part : met) { share({id, part}); }
  }

  void alone_ended(std::uint32_t id) {
    instances_[id].event = 0;
    part_ended(id);
  }

  /// Turns a part of a communication that has met another into flows of SimGrid with the bytes that
  /// are left; the rest goes on as an event. False when it is just ending and in nobody's way.
  bool share(const User& user) {
    Instance& self = instances_[user.instance];
    const CommLoad& load = loads_.comms[self.comm];
    if (!self.split) {
      const double left = self.alone_end - clock();
      if (left <= kPrecision) { return false; }
      self.split = true;
      self.split_at = clock();
      self.fraction = std::min(1.0, left / (load.alone * time_scale_));
      self.shared.assign(load.parts.size(), 0);
    }
    if (self.shared[user.part] != 0) { return true; }
    const SharedPart& part = load.parts[user.part];
    const double left = end_of(self, part.alone) - clock();
    if (left <= kPrecision && clock() > self.split_at) { return false; }
    self.shared[user.part] = 1;
    self.left += part.end - part.first;
    const double fraction = part.alone > 0 ? left / (part.alone * time_scale_) : 0.0;
    for (std::uint32_t f = part.first; f < part.end; ++f) {
      begin_flow({load.flows[f].path, load.flows[f].bytes * fraction, user.instance});
    }
    set_rest(user.instance);
    return true;
  }

  /// When what takes `alone` seconds with the wires to itself ends, once split.
  double end_of(const Instance& self, double alone) const {
    return self.split_at + self.fraction * alone * time_scale_;
  }

  /// The end of all that has met nobody.
  void set_rest(std::uint32_t id) {
    Instance& self = instances_[id];
    if (self.event == 0) { return; }
    const CommLoad& load = loads_.comms[self.comm];
    double longest = load.alone_private;
    for (std::size_t p = 0; p < load.parts.size(); ++p) {
      if (self.shared[p] == 0) { longest = std::max(longest, load.parts[p].alone); }
    }
    const double end = longest > 0 ? end_of(self, longest) : 0.0;
    if (end == self.alone_end) { return; }
    self.event = 0;
    if (end <= clock()) {
      --self.left;  // over already
      return;
    }
    self.alone_end = end;
    self.event = plan(end, EventKind::alone_ends, id);
  }

  /// While SimGrid does not run, flows wait for it to start at this instant.
  void begin_flow(const Start& start) {
    if (sharing_) {
      start_flow(start);
    } else {
      starting_.push_back(start);
    }
  }

  void start_flow(const Start& start) {
    if (free_slots_.empty()) { free_slots_.push_back(&slots_.emplace_back()); }
    Slot* const slot = free_slots_.back();
    free_slots_.pop_back();
    ++flows_shared;
    ++flows_;
    auto flow = sg::Comm::sendto_init(sources_[start.path], sink_);
    flow->set_payload_size(static_cast<std::uint64_t>(std::max(1.0, start.bytes * byte_scale_)));
    flow->set_data(slot);
    *slot = {flow, start.instance};
    flow->vetoable_start();
  }

  void part_ended(std::uint32_t id) {
    if (--instances_[id].left > 0) { return; }
    for (const MeetingChannel& m : loads_.comms[instances_[id].comm].meeting) {
      auto& users = users_[static_cast<std::size_t>(m.channel)];
      users.erase(std::find(users.begin(), users.end(), User{id, m.part}));
    }
    free_instances_.push_back(id);
    done(instances_[id].task);
  }

  CommLoads loads_;
  double time_scale_;  // SimGrid's seconds in one of ours
  double byte_scale_;  // SimGrid's bytes in one of ours
  std::unique_ptr<sg::Engine> engine_;
  double origin_;                     // SimGrid's clock when this run began
  double clock_ = origin_;            // while SimGrid does not run
  bool sharing_ = false;              // it does
  Timer* alarm_ = nullptr;            // its own
  std::uint64_t flows_ = 0;           // under way
  PlannedEvents<EventKind> planned_;  // at times of SimGrid's clock
  std::vector<Start> starting_;       // flows that are to start at this instant
  sg::Host* sink_ = nullptr;
  std::vector<sg::Host*> sources_;        // by path
  std::vector<std::vector<User>> users_;  // by channel: what moves bytes there
  std::vector<Instance> instances_;
  std::vector<std::uint32_t> free_instances_;
  std::deque<Slot> slots_;  // which stay where they are
  std::vector<Slot*> free_slots_;
  Slot* last_ended_ = nullptr;
};

SimGridNetwork::SimGridNetwork(const TaskGraph& graph, std::span<const cost::Channel> channels)
    : impl_(std::make_shared<Impl>(graph, channels)) {
  // SimGrid's callbacks stay for the whole process; this one falls silent with its network.
  sg::Activity::on_completion_cb([network = std::weak_ptr(impl_)](const sg::Activity& flow) {
    if (const auto impl = network.lock()) { impl->flow_ended(*flow.get_data<Impl::Slot>()); }
  });
}

SimGridNetwork::~SimGridNetwork() = default;
void SimGridNetwork::on_done(Done done) { impl_->on_done = std::move(done); }
Seconds SimGridNetwork::now() const { return {impl_->now()}; }
void SimGridNetwork::run() { impl_->run(); }
std::uint64_t SimGridNetwork::flows_shared() const { return impl_->flows_shared; }

void SimGridNetwork::start_wait(Seconds duration, TaskId task) {
  impl_->wait(duration.value, task);
}

void SimGridNetwork::start_comm(std::uint32_t comm, TaskId task) { impl_->start_comm(comm, task); }

}  // namespace tsim::sim
