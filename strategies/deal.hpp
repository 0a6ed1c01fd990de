// How many layers each part of the model gets.
#pragma once

#include <functional>
#include <vector>

#include "strategies/strategy.hpp"

namespace tsim::strategies {

/// Embedding and head, as far as they count as layers.
inline constexpr int kEnds = 2;

/// Running sums of the layers' times, from 0 on: one entry more than there are layers.
using Sums = std::vector<double>;
Sums running_sums(const std::vector<double>& times);

/// Whether layers [from, to) may be part `part`'s.
using Fits = std::function<bool(int part, int from, int to)>;

/// Layers of every part, in the order of the model: as listed, the same number each (with the ends:
/// of layers, embedding and head, so that the first and the last part may have none), or with the
/// least
///  largest time of a part. `by_stage`: the layers' times on the devices of each stage, or one
/// entry when all stages are alike. With `encoder_stages` the first `encoder_layers` layers are
/// dealt to these alone. LayerSplit::fitting: as balanced among the cuts all of whose parts fit, or
/// among all cuts when there is none.
std::vector<int> deal(const std::vector<Sums>& by_stage, int encoder_layers,
                      const Strategy& strategy, const Fits& fits = {});

}  // namespace tsim::strategies
