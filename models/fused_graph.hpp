// A graph with its operators grouped into kernels, and what that does to memory traffic. Private to
// this room.
#pragma once

#include <vector>

#include "models/kernel.hpp"

namespace tsim::models {

/// Holds the graph by reference: it must outlive this.
struct FusedGraph {
  const OpGraph& graph;
  Fusion fusion{};
  std::vector<std::vector<OpId>> groups;   // in topological order
  std::vector<std::size_t> group_of;       // by operator
  std::vector<std::vector<OpId>> readers;  // by tensor, in order, each once
  std::vector<bool> kept;                  // by tensor: stored for the backward

  const Op& op(OpId id) const { return graph.ops[static_cast<std::size_t>(id)]; }
  const Tensor& tensor(TensorId id) const { return graph.tensors[static_cast<std::size_t>(id)]; }
  const std::vector<OpId>& readers_of(TensorId id) const {
    return readers[static_cast<std::size_t>(id)];
  }
  bool is_kept(TensorId id) const { return kept[static_cast<std::size_t>(id)]; }
  std::size_t group(OpId id) const { return group_of[static_cast<std::size_t>(id)]; }
  /// Whether `id` is made inside group `g`.
  bool made_in(TensorId id, std::size_t g) const;
  /// Whether something outside the producer's group reads `id`.
  bool read_outside(TensorId id) const;
  /// Operators of group `g` that read `id`.
  std::vector<OpId> readers_in(TensorId id, std::size_t g) const;
};
FusedGraph fused_graph(const OpGraph& graph, Fusion fusion);

/// The tensor to keep instead of `id`: one from outside the group from which the group's kernel
/// makes `id` again by adding a vector or a scalar. `id` itself if there is none.
TensorId stored_instead(const FusedGraph& f, TensorId id);

/// Whether the kernel of the producer's group writes `id` to memory.
bool is_written(const FusedGraph& f, TensorId id);

/// Distinct operands and their bytes, values and gradients apart. Slices of a tensor (a fused
/// projection's queries, keys and values) are distinct, whole tensors are not.
class Traffic {
 public:
  explicit Traffic(const OpGraph& graph) : graph_(graph) {}
  void value(const Operand& operand) { add(false, operand); }
  void gradient(const Operand& operand) { add(true, operand); }
  bool empty() const { return seen_.empty(); }
  Bytes bytes() const { return bytes_; }

 private:
  void add(bool gradient, const Operand& operand);

  struct Seen {
    bool gradient;
    Operand operand;
  };
  const OpGraph& graph_;
  std::vector<Seen> seen_;
  Bytes bytes_;
};

/// Bytes of an operand as its operator sees it.
Bytes size_of(const OpGraph& graph, const Operand& operand);

/// A contraction as `batch` products [m, k] x [k, n].
struct ProductShape {
  std::int64_t batch = 1, m = 1, n = 1, k = 1;
};
ProductShape product_shape(const Op& op);

/// How the operands of a contraction's forward lie in memory.
Operands operands_of(const Op& op);

/// A kernel for the operators `ops` with the fields that the group decides: name, kind, class,
/// part, format. The kind is that of its contraction, else its normalisation, else the first.
Kernel kernel_for(const OpGraph& graph, const std::vector<OpId>& ops, const std::string& suffix);

/// The backward of every group, appended to `out` in the order in which it runs.
void append_backward(const FusedGraph& f, BlockKernels& out);

}  // namespace tsim::models
