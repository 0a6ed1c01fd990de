// How many layers each part of the model gets.
#pragma once

#include <vector>

#include "strategies/strategy.hpp"

namespace tsim::strategies {

/// Running sums of the layers' times, from 0 on: one entry more than there are layers.
using Sums = std::vector<double>;
Sums running_sums(const std::vector<double>& times);

/// Layers of every part, in the order of the model: as listed, the same number each, or with the
/// least largest time of a part. `by_stage`: the layers' times on the devices of each stage, or one
/// entry when all stages are alike. With `encoder_stages` the first `encoder_layers` layers are
/// dealt to these alone.
std::vector<int> deal(const std::vector<Sums>& by_stage, int encoder_layers,
                      const Strategy& strategy);

}  // namespace tsim::strategies
