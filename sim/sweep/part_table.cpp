#include "sim/sweep/part_table.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/simulation.hpp"

namespace tsim::sim {
namespace {

using strategies::PartForm;

constexpr int kPlanned = 5;  // layers of the longest part that is always planned

bool close(double a, double b) {
  return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b));
}

bool alike(const std::vector<Bucket>& a, const std::vector<Bucket>& b) {
  return std::ranges::equal(a, b, [](const Bucket& x, const Bucket& y) {
    return x.elements == y.elements && close(x.at, y.at);
  });
}

/// The same number of buckets, which grow: as where nothing is sent before the end.
Buckets grown(const Buckets& shorter, const Buckets& longer, int more) {
  Buckets result = longer;
  for (std::size_t i = 0; i < longer.head.size(); ++i) {
    result.head[i].at += more * (longer.head[i].at - shorter.head[i].at);
    result.head[i].elements += more * (longer.head[i].elements - shorter.head[i].elements);
  }
  result.head_time += more * (longer.head_time - shorter.head_time);
  return result;
}

/// `longer` has some buckets more than `shorter` between a head and a tail that both have; they
/// come again with each further layer.
std::optional<Buckets> extended(const Buckets& shorter, const Buckets& longer, int more) {
  if (shorter.head.size() == longer.head.size()) { return grown(shorter, longer, more); }
  if (shorter.head.size() > longer.head.size()) { return std::nullopt; }
  const std::size_t added = longer.head.size() - shorter.head.size();
  const double period = longer.head_time - shorter.head_time;
  std::size_t same = 0;
  while (same < shorter.head.size() && shorter.head[same].elements == longer.head[same].elements &&
         close(shorter.head[same].at, longer.head[same].at)) {
    ++same;
  }
  Buckets result;
  result.head.assign(longer.head.begin(), longer.head.begin() + static_cast<std::ptrdiff_t>(same));
  result.head_time = same == 0 ? 0.0 : longer.head[same - 1].at;
  result.period_time = period;
  result.repeats = 1 + more;
  for (std::size_t i = same; i < longer.head.size(); ++i) {
    const bool again = i < same + added;
    const double start = result.head_time + (again ? 0.0 : period);
    (again ? result.period : result.tail)
        .push_back({longer.head[i].at - start, longer.head[i].elements});
  }
  for (std::size_t i = same; i < shorter.head.size(); ++i) {
    const Bucket& after = longer.head[i + added];
    if (shorter.head[i].elements != after.elements ||
        !close(shorter.head[i].at + period, after.at)) {
      return std::nullopt;
    }
  }
  result.tail_time = longer.head_time - result.head_time - period;
  return result;
}

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

/// Elements of which a bucket is sent when it is full.
std::int64_t full_bucket(const strategies::Strategy& s, Bytes bucket) {
  if (!s.overlap_gradients || s.zero.stage == 3) { return kNever; }
  return std::max<std::int64_t>(1, bucket.value / size_of(s.precision.reduction));
}

/// Whether a bucket that grows with the layers, because one alone does not fill it, is full before
/// they end: then there are more of them.
bool overflows(const Buckets& longer, const Buckets& result, const strategies::Strategy& s) {
  if (result.repeats > 0) { return false; }
  for (std::size_t i = 0; i < result.head.size(); ++i) {
    const bool grows = result.head[i].elements > longer.head[i].elements;
    const Bytes bucket = i == 0 ? s.first_bucket : s.bucket;
    if (grows && result.head[i].elements >= full_bucket(s, bucket)) { return true; }
  }
  return false;
}

}  // namespace

Buckets flattened(const Buckets& buckets) {
  Buckets flat;
  const auto append = [&flat](const std::vector<Bucket>& list, double length) {
    for (const Bucket& b : list) { flat.head.push_back({flat.head_time + b.at, b.elements}); }
    flat.head_time += length;
  };
  append(buckets.head, buckets.head_time);
  for (int i = 0; i < buckets.repeats; ++i) { append(buckets.period, buckets.period_time); }
  append(buckets.tail, buckets.tail_time);
  return flat;
}

bool alike(const PartFigures& a, const PartFigures& b) {
  const auto same_buckets = [](const Buckets& x, const Buckets& y) {
    const Buckets fx = flattened(x);
    const Buckets fy = flattened(y);
    return alike(fx.head, fy.head) && close(fx.head_time, fy.head_time);
  };
  return a.sizes == b.sizes && std::ranges::equal(a.times, b.times, close) &&
         same_buckets(a.buckets, b.buckets) && same_buckets(a.weight_buckets, b.weight_buckets);
}

std::optional<PartFigures> extended(const PartFigures& shorter, const PartFigures& longer,
                                    int more) {
  PartFigures result = longer;
  for (std::size_t i = 0; i < kPartTimes; ++i) {
    result.times[i] += more * (longer.times[i] - shorter.times[i]);
  }
  for (std::size_t i = 0; i < kPartSizes; ++i) {
    result.sizes[i] += more * (longer.sizes[i] - shorter.sizes[i]);
  }
  auto whole = extended(shorter.buckets, longer.buckets, more);
  auto weights = extended(shorter.weight_buckets, longer.weight_buckets, more);
  if (!whole || !weights) { return std::nullopt; }
  result.buckets = std::move(*whole);
  result.weight_buckets = std::move(*weights);
  return result;
}

PartTable::PartTable(const Scenario& scenario, strategies::CollectiveTimes& times)
    : strategy_(scenario.strategy),
      device_(scenario.cluster.devices.front()),
      training_(scenario.workload.training),
      clock_(strategy_, times, device_.host_collective) {
  const models::Model model = build_model(scenario.model, build_options(scenario));
  blocks_ = plan_blocks(model, strategy_, device_);
  if (blocks_) { layer_times_ = strategies::layer_times(*blocks_); }
}

PartFigures PartTable::planned(const PartForm& form) {
  strategies::StagePlan stage = plan_part(*blocks_, form, strategy_, device_);
  strategies::ChunkPlan& chunk = stage.chunks.front();
  if (!form.first) { chunk.input = blocks_->layer.output + blocks_->layer.memory; }
  PartFigures figures = figures_of(chunk, strategy_, training_, clock_, 0);
  figures[PartSize::elements] = stage.elements;
  figures[PartSize::whole] = stage.whole;
  figures[PartSize::frozen] = stage.frozen.elements;
  figures[PartSize::frozen_whole] = stage.frozen.whole;
  figures[PartSize::frozen_embedding] = stage.frozen.embedding;
  return figures;
}

PartFigures PartTable::found(const PartForm& form) {
  if (form.layers <= kPlanned) { return planned(form); }
  const PartFigures& three = figures({kPlanned - 2, form.first, form.last});
  const PartFigures& four = figures({kPlanned - 1, form.first, form.last});
  const PartFigures& five = figures({kPlanned, form.first, form.last});
  const auto predicted = extended(three, four, 1);
  if (predicted && alike(*predicted, five)) {
    auto result = extended(four, five, form.layers - kPlanned);
    const bool full = result && (overflows(five.buckets, result->buckets, strategy_) ||
                                 overflows(five.weight_buckets, result->weight_buckets, strategy_));
    if (result && !full) { return std::move(*result); }
  }
  return planned(form);
}

const PartFigures& PartTable::figures(const PartForm& form) {
  const std::tuple<int, bool, bool> key{form.layers, form.first, form.last};
  const auto at = known_.find(key);
  if (at != known_.end()) { return at->second; }
  PartFigures figures = found(form);
  figures.shared = shared_of(*blocks_, form);
  return known_.emplace(key, std::move(figures)).first->second;
}

}  // namespace tsim::sim
