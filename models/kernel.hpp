// Kernels: what a device launches for a block after fusion, with the work of each.
#pragma once

#include <string>
#include <vector>

#include "models/op_graph.hpp"

namespace tsim::models {

/// How far neighbouring operators are joined into one kernel.
///  none       every operator is a kernel of its own
///  framework  what training frameworks do: Megatron-LM's bias+activation, bias+dropout+add and
///             scale+mask+softmax; any other bias in the epilogue of its product (nn.Linear)
///  full       further, neighbours with compatible iteration spaces (the same, or differing by one
///             reduction) are joined until none are left; contractions stay kernels of their own
///             [arXiv:2007.00072, sec. 4]
enum class Fusion : std::uint8_t { none, framework, full };
std::string_view name_of(Fusion fusion);

/// What a kernel makes: a value, the gradient of an input, or that of a weight.
enum class Pass : std::uint8_t { forward, backward, weight_gradient };

/// How the operands of a product lie in memory, as BLAS names them: x W^T (nt), dy W (nn),
/// dy^T x (tn), and dy^T x added to an fp32 sum (tn_sum). It decides which of a library's kernels
/// run.
enum class Operands : std::uint8_t { nt, nn, tn, tn_sum };

/// A result that is added to a sum in fp32 is read and written.
inline constexpr int kSumBytes = 2 * size_of(DType::fp32);

struct Kernel {
  std::string name;
  OpKind kind{};
  OpClass cls{};
  Part part{};
  DType dtype = DType::fp16;  // of the arithmetic's inputs
  Flops flops{};              // executed
  Bytes bytes{};              // moved to and from device memory
  /// A contraction as `batch` products [m, k] x [k, n]; zero otherwise.
  std::int64_t batch = 0, m = 0, n = 0, k = 0;
  std::vector<OpId> ops{};  // the operators it runs; the first gives its name
  Pass pass = Pass::forward;
  Operands operands = Operands::nt;  // of a contraction
  bool causal = false;               // of a fused attention: the masked half is not computed
  /// Points of its chief operator's iteration space, and for a normalisation those of one row.
  std::int64_t elements = 0, columns = 0;
};

/// Kernels of one block. The backward is split so that schedules may delay the weight part.
struct BlockKernels {
  std::vector<Kernel> forward;
  std::vector<Kernel> backward_input;
  std::vector<Kernel> backward_weight;
};

/// Groups of operators that share a kernel, in topological order.
std::vector<std::vector<OpId>> fuse(const OpGraph& graph, Fusion fusion);

/// Kernels of `graph`. The backward of a contraction is two contractions of the same size (one when
/// the input needs no gradient or the weight is frozen; one of 2.5 times the FLOPs for a flash
/// attention); of any other group one kernel that reads the output's gradient and what was saved
/// and writes the input's gradient. A residual and a bias hand the gradient on; a bias's or table's
/// own gradient is a sum over tokens, and where several kernels read a tensor their gradients are
/// added up, or joined where they read slices of it: kernels of their own ("x.weight_gradient",
/// "x.gradient_sum", "x.gradient_join") unless `fusion` is full.
/// A kernel's bytes are the operands of its operators, without the tensors that stay inside it.
BlockKernels kernels(const OpGraph& graph, Fusion fusion);

/// Tensors kept for the backward when fused kernels need not write what lies inside them: with
/// Fusion::full, dropout masks are drawn again from their seed and element-wise results inside a
/// group are computed again; otherwise the same as saved_tensors(graph).
std::vector<TensorId> saved_tensors(const OpGraph& graph, Fusion fusion);

}  // namespace tsim::models
