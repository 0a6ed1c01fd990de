// Events in the order of their times, equal ones in the order in which they were added.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

namespace tsim::sim {

enum class EventKind : std::uint8_t { wait, begin, sent, arrived, over };

struct Event {
  double time = 0;
  std::uint32_t order = 0;  // > 0
  std::uint32_t what = 0;   // kind and id, packed: a queue of many events is copied a lot
  EventKind kind() const { return static_cast<EventKind>(what >> kIdBits); }
  std::uint32_t id() const { return what & ((1U << kIdBits) - 1); }
  static constexpr unsigned kIdBits = 29;
  bool operator>(const Event& other) const {
    return time > other.time || (time == other.time && order > other.order);
  }
};

class EventQueue {
 public:
  bool empty() const { return heap_.empty(); }
  double next_time() const { return heap_.front().time; }

  /// Returns the event's order.
  std::uint32_t push(double time, EventKind kind, std::uint32_t id) {
    heap_.push_back({time, ++order_, static_cast<std::uint32_t>(kind) << Event::kIdBits | id});
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>{});
    return order_;
  }

  Event pop() {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>{});
    const Event event = heap_.back();
    heap_.pop_back();
    return event;
  }

 private:
  std::vector<Event> heap_;
  std::uint32_t order_ = 0;
};

}  // namespace tsim::sim
