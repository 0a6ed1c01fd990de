#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "sim/calibrate/cuda/overlap.hpp"
#include "sim/calibrate/cuda/products.hpp"

namespace tsim::calibrate {
namespace {

void on_each_device(const Lane& lane, const std::function<void(std::size_t)>& call) {
  for (std::size_t i = 0; i < lane.streams.size(); ++i) {
    check(cudaSetDevice(static_cast<int>(i)));
    call(i);
  }
  check(cudaSetDevice(0));
}

void wait_for(const Lane& lane) {
  on_each_device(lane, [&](std::size_t i) { check(cudaStreamSynchronize(lane.streams[i])); });
}

/// Events of the devices of a lane.
std::vector<Event> events_of(const Lane& lane) {
  std::vector<Event> events;
  on_each_device(lane, [&](std::size_t) { events.emplace_back(); });
  return events;
}

/// `later` goes on when what `earlier` holds by now is over.
void join(const Lane& earlier, const Lane& later, const std::vector<Event>& events) {
  on_each_device(earlier, [&](std::size_t i) {
    events[i].record(earlier.streams[i]);
    check(cudaStreamWaitEvent(later.streams[i], events[i].get(), 0));
  });
}

float milliseconds(const Event& from, const Event& to) {
  float time = 0;
  check(cudaEventElapsedTime(&time, from.get(), to.get()));
  return time;
}

Summary alone(const Lane& lane) {
  Summary summary = time_calls([&](int) { lane.enqueue(); }, lane.streams[0]);
  wait_for(lane);
  return summary;
}

Summary together(const Lane& first, const Lane& second) {
  const std::vector<Event> ready = events_of(first);
  const std::vector<Event> over = events_of(second);
  Summary summary = time_calls(
      [&](int) {
        join(first, second, ready);
        first.enqueue();
        second.enqueue();
        join(second, first, over);
      },
      first.streams[0]);
  wait_for(first);
  wait_for(second);
  return summary;
}

/// Two events around one piece on device 0.
class Stopwatch {
 public:
  explicit Stopwatch(const Lane& lane) : lane_(lane) {}
  void enqueue() const {
    begin_.record(lane_.streams[0]);
    lane_.enqueue();
    end_.record(lane_.streams[0]);
  }
  double microseconds() const { return 1e3 * milliseconds(begin_, end_); }
  const Event& end() const { return end_; }

 private:
  const Lane& lane_;
  Event begin_, end_;
};

/// Pieces of `timed` while pieces of `other` run from before each to after it, in turns with pieces
/// of `timed` alone that have as long a pause behind them.
Beside time_beside(const Lane& timed, const Lane& other, double timed_us, double other_us) {
  using Clock = std::chrono::steady_clock;
  constexpr std::size_t kRounds = 11;
  constexpr int kMost = 200;
  const std::vector<Event> started = events_of(other);
  const Stopwatch watch(timed);
  const Event last;
  int pieces = std::clamp(static_cast<int>(std::ceil(1.5 * timed_us / other_us)) + 2, 3, kMost);
  std::vector<double> alone;
  std::vector<double> beside;
  for (std::size_t round = 0; round < 3 * kRounds && beside.size() < kRounds; ++round) {
    const Clock::time_point start = Clock::now();
    other.enqueue();
    join(other, timed, started);
    for (int i = 1; i < pieces; ++i) { other.enqueue(); }
    last.record(other.streams[0]);
    watch.enqueue();
    wait_for(timed);
    wait_for(other);
    const Clock::duration took = Clock::now() - start;
    const bool covered = milliseconds(watch.end(), last) > 0;
    if (!covered) { pieces = std::min(2 * pieces, kMost); }
    if (covered && round > 0) { beside.push_back(watch.microseconds()); }
    watch.enqueue();
    wait_for(timed);
    if (round > 0) { alone.push_back(watch.microseconds()); }
    std::this_thread::sleep_until(start + 2 * took);
  }
  if (beside.empty()) { throw NotHere("one of the two cannot be kept busy beside the other"); }
  return {summarise(alone), summarise(beside)};
}

}  // namespace

Overlap time_overlap(const Lane& first, const Lane& second) {
  Overlap o{alone(first), alone(second), together(first, second), {}, {}};
  o.first_beside = time_beside(first, second, o.first.median, o.second.median);
  o.second_beside = time_beside(second, first, o.second.median, o.first.median);
  return o;
}

Overlap time_beside_copy(const std::array<long, 3>& mnk, std::size_t bytes) {
  const Stream compute;
  const Stream copy;
  const RunningProduct product({"bf16", "nt", 1, mnk[0], mnk[1], mnk[2]}, false, compute);
  const Buffer host = Buffer::pinned(bytes);
  const Buffer device = Buffer::on_device(bytes);
  const Lane products{[&] {
                        for (int i = 0; i < kProducts; ++i) { product(i); }
                      },
                      {compute}};
  const Lane copies{
      [&] {
        check(cudaMemcpyAsync(device.data(), host.data(), bytes, cudaMemcpyHostToDevice, copy));
      },
      {copy}};
  return time_overlap(products, copies);
}

}  // namespace tsim::calibrate
