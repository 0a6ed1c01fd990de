// What ranks that share the rows of a normalisation tell each other.
#pragma once

#include "models/op_graph.hpp"
#include "strategies/tensor/sharded_block.hpp"

namespace tsim::strategies {

/// Collectives, and fp32 numbers that each adds up per row. A layer norm adds up x and x^2 together
/// [arXiv:2104.05343, sec. 3.2.2]; a softmax needs the maximum first; a loss the label's logit,
/// too.
struct RowStatistics {
  int collectives = 0, numbers = 1;
};
RowStatistics forward_statistics(models::OpKind kind);
RowStatistics backward_statistics(models::OpKind kind);

/// Adds to the entry of `ranks`; a run of one rank shares nothing.
void add_shared(std::vector<SharedGradients>& shared, const RankRun& ranks, std::int64_t elements);

}  // namespace tsim::strategies
