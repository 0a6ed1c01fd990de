// What is to happen later, in the order of time.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

namespace tsim::sim {

/// Of two events at the same time the one that was planned first comes first.
template <typename Kind>
class PlannedEvents {
 public:
  struct Event {
    double at = 0;
    std::uint64_t number = 0;  // from 1 on
    std::uint32_t what = 0;
    Kind kind{};
    bool operator>(const Event& other) const {
      return at != other.at ? at > other.at : number > other.number;
    }
  };

  /// The event's number.
  std::uint64_t add(double at, Kind kind, std::uint32_t what) {
    queue_.push({at, ++planned_, what, kind});
    return planned_;
  }
  bool empty() const { return queue_.empty(); }
  double next() const { return queue_.top().at; }
  Event take() {
    const Event event = queue_.top();
    queue_.pop();
    return event;
  }

 private:
  std::uint64_t planned_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> queue_;
};

}  // namespace tsim::sim
