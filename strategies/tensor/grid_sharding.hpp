// Tensor parallelism on a square grid of ranks, and on several such grids in layers.
#pragma once

#include "strategies/shard.hpp"
#include "strategies/tensor/sharded_block.hpp"
#include "strategies/tensor/tensor_split.hpp"

namespace tsim::strategies {

/// `graph` as one rank of the grid holds it: samples are divided over rows and layers, hidden
/// units, heads, MLP columns and vocabulary over columns; a weight [k, n] is held as a block
/// [k/side, n/side], the same one in every layer. Products run as SUMMA, `side` panels each:
///   C = A B     broadcast A's panel along rows and B's along columns
///   A' = C' B^T broadcast B along columns, add up A' along rows
///   B' = A^T C' broadcast A along rows, add up B' along columns
/// and the logits as C = A B^T of the embedding's table. Norms and the loss add up their statistics
/// along rows. Gradients of vectors are added up over rows and layers, those of blocks over layers.
///   [arXiv:2104.05343, sec. 3 (Optimus, depth 1); arXiv:2105.14500, sec. 3 (Tesseract)]
/// The graph's batch is a multiple of side x depth, and every divided axis of `side`.
ShardedBlock shard_on_grid(const models::OpGraph& graph, const Sharding& sharding,
                           const TensorGrid& grid);

}  // namespace tsim::strategies
