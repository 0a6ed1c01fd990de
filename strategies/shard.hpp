// One rank's part of a block, and the communication that the split makes necessary.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/op_graph.hpp"
#include "strategies/rank_group.hpp"
#include "strategies/strategy.hpp"

namespace tsim::strategies {

/// How the experts of a block are spread.
struct ExpertSharding {
  int ranks = 1;                     // ep: their tokens come from as many ranks
  int tensor = 1;                    // etp: ranks that split each one
  bool cuts_tokens = true;           // each tensor rank sends its part of the tokens only
  bool gathers = false;              // all tokens go to all ranks
  double load = 1;                   // rows of this rank's experts over the mean
  int layer = 0;                     // > 0: of the exchanges, the drawn one's number
  std::vector<int> shadow_owners{};  // ranks of the experts that all ranks compute
  std::optional<models::DType> dispatch_format{}, combine_format{};  // on the wires
};

/// A block split over `tensor` x `context` ranks.
struct Sharding {
  int tensor = 1;                  // t
  bool sequence_parallel = false;  // operators outside the split split the sequence instead
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;
  int context = 1;  // ranks that split the sequence of everything
  ContextAttention attention = ContextAttention::ring;
  int context_rank = -1;  // which of them, where that makes a difference
  ExpertSharding experts{};
};

/// `graph` as one of t ranks holds it: heads, ffn and vocabulary axes are divided by t (a key/value
/// head is never cut: with fewer of them than ranks, each rank keeps a copy of one); with sequence
/// parallelism the sequence axis of every operator and tensor without such an axis is divided too.
/// Context ranks divide the sequence axis of all; keys are whole, but for a ring, whose operators
/// are one round of it; after Ulysses' all-to-all the attention core has the whole sequence and a
/// part of the heads. Experts are dealt to ep ranks and their columns to etp ranks; an expert's
/// slots hold the rows that come from all of these.
///   [arXiv:1909.08053, sec. 3; arXiv:2205.05198, sec. 4.2]
models::OpGraph shard(const models::OpGraph& graph, const Sharding& sharding);

/// Whether the shape has an axis that tensor parallelism divides.
bool is_split(const models::Shape& shape);

/// A collective that an operator needs. Its size is the whole buffer.
struct OpComm {
  models::OpId op = 0;
  Communication comm;
};

/// Collectives around the operators of a sharded graph, in operator order. They follow from the
/// axes: a sum over a divided axis leaves partial results (all-reduce, or reduce-scatter under
/// sequence parallelism) in the forward; an input that lacks a divided axis of the operator's space
/// receives partial gradients in the backward.
struct TensorComms {
  std::vector<OpComm> before_forward;  // sequence parallel: gather the input
  std::vector<OpComm> after_forward;
  std::vector<OpComm> before_backward;  // sequence parallel: gather the output's gradient
  std::vector<OpComm> after_backward_input;
};
/// Consecutive operators of one attention core, and what it reads on this rank.
struct CoreOps {
  models::OpId first = 0, last = 0;
  Bytes queries, keys;  // values are as large as keys
};
std::vector<CoreOps> attention_cores(const models::OpGraph& sharded);

TensorComms tensor_comms(const models::OpGraph& sharded, const Sharding& sharding);

}  // namespace tsim::strategies
