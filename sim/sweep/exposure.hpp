// Time that gradient buckets are still under way after the last backward.
#pragma once

#include <algorithm>
#include <limits>

#include "sim/sweep/part_figures.hpp"

namespace tsim::sim {

/// How much later than the computation the queue of buckets ends: as strategies::closed_form(), for
/// which buckets queue behind each other and behind the compute that fills them.
/// `time_of(elements)`: of a bucket, in seconds.
template <class TimeOf>
class Exposure {
 public:
  explicit Exposure(TimeOf time_of) : time_of_(time_of) {}

  void add(const Buckets& buckets) {
    lag_ = after(buckets.head, buckets.head_time, lag_);
    if (buckets.repeats > 0) {
      // One period takes the lag d to max(d + a, b), so n of them to max(d + na, b + (n-1)a) where
      // the lag grows, and to b at least where it does not.
      double sum = 0;
      for (const Bucket& b : buckets.period) { sum += time_of_(b.elements); }
      const double growth = sum - buckets.period_time;
      const double least =
          after(buckets.period, buckets.period_time, -std::numeric_limits<double>::infinity());
      const int n = buckets.repeats;
      lag_ = std::max(lag_ + n * growth, least + std::max(0.0, (n - 1) * growth));
    }
    lag_ = after(buckets.tail, buckets.tail_time, lag_);
  }
  /// A backward that sends what it makes by itself.
  void add(double exits, double all) { lag_ = std::max(lag_, all) - exits; }

  double seconds() const { return std::max(0.0, lag_); }

 private:
  double after(const std::vector<Bucket>& list, double length, double lag) {
    double now = 0;
    for (const Bucket& b : list) {
      lag = std::max(lag - (b.at - now), 0.0) + time_of_(b.elements);
      now = b.at;
    }
    return lag - (length - now);
  }

  TimeOf time_of_;
  double lag_ = 0;  // of the queue's end behind the computation
};

}  // namespace tsim::sim
