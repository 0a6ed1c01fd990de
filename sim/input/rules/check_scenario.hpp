// Rules between the parts of a scenario.
#pragma once

#include "sim/input/input_error.hpp"
#include "sim/scenario.hpp"

namespace tsim::sim {

/// Checks every rule whose parts were read without a problem. The cluster need not be built yet,
/// nor the vocabulary padded: `devices` tells the cluster's size, 0 when it is not known.
void check_scenario(const Scenario& scenario, std::int64_t devices, Problems& problems);

/// Warns of what is valid but does nothing, or less than it seems to.
void warn_of_doubtful(const Scenario& scenario, Problems& problems);

/// Layers of the whole chain: encoder and decoder.
std::int64_t layer_count(const models::ModelConfig& model);

/// Tokens of one sample: the workload's sequence, the model's own, or a vision model's patches and
/// class token.
std::int64_t tokens_of(const models::ModelConfig& model, const Workload& workload);

/// `vocab` rounded up to a multiple of `multiple` * `tensor`.
std::int64_t padded_vocab(std::int64_t vocab, std::int64_t multiple, std::int64_t tensor);

/// Whether every node of the built cluster has the memory and drives that the strategy copies to.
void check_hosts(const Scenario& scenario, Problems& problems);

}  // namespace tsim::sim
