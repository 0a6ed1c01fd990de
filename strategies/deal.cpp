#include "strategies/deal.hpp"

#include <algorithm>
#include <cassert>
#include <limits>
#include <numeric>
#include <span>

#include "strategies/schedule.hpp"

namespace tsim::strategies {
namespace {

struct Layers {
  int from = 0, to = 0;
};

/// Contiguous parts of `layers` that fit, with the least largest sum, by dynamic programming over
/// (part, layers dealt); none when not all can. `of_part`: the layers' times on the devices of each
/// part's stage.
std::vector<int> balanced_parts(std::span<const Sums> of_part, Layers layers, const Fits& fits) {
  const auto parts = static_cast<int>(of_part.size());
  const int count = layers.to - layers.from;
  const auto offset = static_cast<std::size_t>(layers.from);
  const auto sum = [&](int part, int from, int to) {
    const Sums& sums = of_part[static_cast<std::size_t>(part) - 1];
    return sums[offset + static_cast<std::size_t>(to)] -
           sums[offset + static_cast<std::size_t>(from)];
  };
  const auto width = static_cast<std::size_t>(count) + 1;
  constexpr double kWorst = std::numeric_limits<double>::infinity();
  std::vector<std::vector<double>> best(static_cast<std::size_t>(parts) + 1,
                                        std::vector<double>(width, kWorst));
  std::vector<std::vector<int>> cut(best.size(), std::vector<int>(width, 0));
  best[0][0] = 0.0;
  for (int part = 1; part <= parts; ++part) {
    const auto row = static_cast<std::size_t>(part);
    for (int to = part; to <= count - (parts - part); ++to) {
      for (int from = to - 1; from >= part - 1; --from) {
        const double worst =
            std::max(best[row - 1][static_cast<std::size_t>(from)], sum(part, from, to));
        const bool less = worst < best[row][static_cast<std::size_t>(to)] * (1 - 1e-12);
        if (less && (!fits || fits(part - 1, layers.from + from, layers.from + to))) {
          best[row][static_cast<std::size_t>(to)] = worst;
          cut[row][static_cast<std::size_t>(to)] = from;
        }
      }
    }
  }
  if (best.back().back() == kWorst) { return {}; }
  std::vector<int> counts(static_cast<std::size_t>(parts));
  int to = count;
  for (int part = parts; part >= 1; --part) {
    const int from = cut[static_cast<std::size_t>(part)][static_cast<std::size_t>(to)];
    counts[static_cast<std::size_t>(part) - 1] = to - from;
    to = from;
  }
  return counts;
}

/// Some of the layers over the parts that `of_part` lists.
std::vector<int> deal_some(std::span<const Sums> of_part, Layers layers, LayerSplit split,
                           const Fits& fits) {
  const auto parts = static_cast<int>(of_part.size());
  assert(parts <= layers.to - layers.from);
  if (split == LayerSplit::fitting && fits) {
    std::vector<int> counts = balanced_parts(of_part, layers, fits);
    if (!counts.empty()) { return counts; }
  }
  if (split != LayerSplit::even) { return balanced_parts(of_part, layers, {}); }
  assert((layers.to - layers.from) % parts == 0);
  std::vector<int> counts(of_part.size(), (layers.to - layers.from) / parts);
  return counts;
}

/// The same number each, of the layers and the two ends.
std::vector<int> deal_with_ends(int layers, std::size_t parts) {
  assert((layers + kEnds) % static_cast<int>(parts) == 0);
  std::vector<int> counts(parts, (layers + kEnds) / static_cast<int>(parts));
  --counts.front();
  --counts.back();
  return counts;
}

/// By part, the sums of its stage; `by_stage` has one entry when all stages are alike.
std::vector<Sums> sums_of_parts(const std::vector<Sums>& by_stage, const PipelineShape& shape) {
  std::vector<Sums> of_part(static_cast<std::size_t>(part_count(shape)), by_stage.front());
  for (int stage = 0; stage < static_cast<int>(by_stage.size()); ++stage) {
    for (int chunk = 0; chunk < shape.chunks; ++chunk) {
      of_part[static_cast<std::size_t>(part_of(shape, {stage, chunk}))] =
          by_stage[static_cast<std::size_t>(stage)];
    }
  }
  return of_part;
}

}  // namespace

Sums running_sums(const std::vector<double>& times) {
  Sums sums(times.size() + 1, 0.0);
  std::partial_sum(times.begin(), times.end(), sums.begin() + 1);
  return sums;
}

std::vector<int> deal(const std::vector<Sums>& by_stage, int encoder_layers,
                      const Strategy& strategy, const Fits& fits) {
  if (strategy.split == LayerSplit::list) { return strategy.layers_per_stage; }
  const std::vector<Sums> sums = sums_of_parts(by_stage, shape_of(strategy, 1));
  const std::span<const Sums> of_part(sums);
  const int layers = static_cast<int>(sums.front().size()) - 1;
  if (strategy.split == LayerSplit::even_with_ends) { return deal_with_ends(layers, sums.size()); }
  if (strategy.encoder_stages == 0) {
    return deal_some(of_part, {0, layers}, strategy.split, fits);
  }
  const auto in_encoder = static_cast<std::size_t>(strategy.encoder_stages);
  std::vector<int> counts =
      deal_some(of_part.first(in_encoder), {0, encoder_layers}, strategy.split, fits);
  const Fits decoder_fits = !fits ? Fits{} : [&](int part, int from, int to) {
    return fits(strategy.encoder_stages + part, from, to);
  };
  const std::vector<int> decoder = deal_some(of_part.subspan(in_encoder), {encoder_layers, layers},
                                             strategy.split, decoder_fits);
  counts.insert(counts.end(), decoder.begin(), decoder.end());
  return counts;
}

}  // namespace tsim::strategies
