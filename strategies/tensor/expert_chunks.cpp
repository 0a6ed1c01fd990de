#include "strategies/tensor/expert_chunks.hpp"

#include <algorithm>

#include "cost/roofline.hpp"
#include "models/kernel.hpp"

namespace tsim::strategies {
namespace {

using models::Kernel;

// Above the keys of all other communications beside computations.
constexpr int kFirstKey = 1 << 20;

bool is_exchange(const Piece& piece) {
  const cost::CollectiveOp op = piece.comm.op;
  const bool of_experts = op == cost::CollectiveOp::broadcast || op == cost::CollectiveOp::reduce;
  return piece.kind == PieceKind::comm && piece.comm.stream == Stream::ep && !of_experts;
}

/// The kernel for the part'th of `parts` parts of the rows.
Kernel part_of(const Kernel& kernel, Bytes weights, std::int64_t part, std::int64_t parts) {
  Kernel result = kernel;
  const auto cut = [&](std::int64_t rows) {
    return rows * (part + 1) / parts - rows * part / parts;
  };
  const bool sums_rows = kernel.pass == models::Pass::weight_gradient;
  std::int64_t& rows = sums_rows ? result.k : result.m;
  rows = rows > 0 ? std::max<std::int64_t>(1, cut(rows)) : 0;
  const double share = 1.0 / static_cast<double>(parts);
  result.flops = share * kernel.flops;
  const Bytes fixed = std::min(weights, kernel.bytes);
  result.bytes = fixed + Bytes{cut((kernel.bytes - fixed).value)};
  result.elements = cut(kernel.elements);
  return result;
}

class Chunker {
 public:
  Chunker(const KernelPieces& list, const models::OpGraph& graph, const cost::Device& device,
          int parts)
      : list_(list), graph_(graph), device_(device), parts_(parts) {}

  KernelPieces run() && {
    std::size_t at = 0;
    while (at < count()) {
      const std::size_t there = next_exchange(at);
      const std::size_t work = run_end(there);
      const std::size_t back = next_exchange(work);
      const std::size_t end = run_end(back);
      if (back == count()) { break; }
      copy(at, there);
      overlap({there, work, back, end});
      at = end;
    }
    copy(at, count());
    return std::move(out_);
  }

 private:
  /// Bounds of an exchange, the work after it, and the exchange back.
  struct Span {
    std::size_t there = 0, work = 0, back = 0, end = 0;
  };

  std::size_t count() const { return list_.pieces.size(); }
  std::size_t next_exchange(std::size_t at) const {
    while (at < count() && !is_exchange(list_.pieces[at])) { ++at; }
    return at;
  }
  std::size_t run_end(std::size_t at) const {
    while (at < count() && is_exchange(list_.pieces[at])) { ++at; }
    return at;
  }
  void copy(std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) { out_.add({list_.pieces[i]}, list_.kernels[i]); }
  }

  /// One part of the communications from..to, each after the one before; returns the last one's
  /// key.
  int send(std::size_t from, std::size_t to, int part) {
    int before = 0;
    for (std::size_t i = from; i < to; ++i) {
      Piece piece = list_.pieces[i];
      piece.kind = PieceKind::async_comm;
      piece.comm.size = split(piece.comm.size, parts_)[static_cast<std::size_t>(part)];
      piece.needs = before;
      piece.key = key_++;
      before = piece.key;
      out_.add({piece}, nullptr);
    }
    return before;
  }

  void compute(std::size_t from, std::size_t to, int part) {
    for (std::size_t i = from; i < to; ++i) {
      Piece piece = list_.pieces[i];
      const bool last = part + 1 == parts_;
      const bool computes = piece.kind == PieceKind::compute;
      if (!computes && part > 0) { continue; }
      if (const Kernel* whole = list_.kernels[i]; computes && whole != nullptr) {
        const Kernel kernel = part_of(*whole, weights_of(graph_, *whole), part, parts_);
        piece.on_device = cost::kernel_time(kernel, device_);
      }
      const double share = 1.0 / parts_;
      piece.model_flops = share * piece.model_flops;
      piece.hardware_flops = share * piece.hardware_flops;
      if (!last) { piece.gradients = piece.embedding_gradients = piece.expert_gradients = 0; }
      out_.add({piece}, list_.kernels[i]);
    }
  }

  void overlap(const Span& s) {
    const Phase phase = list_.pieces[s.there].phase;
    std::vector<int> arrived;
    std::vector<int> returned;
    arrived.reserve(static_cast<std::size_t>(parts_));
    returned.reserve(static_cast<std::size_t>(parts_));
    for (int part = 0; part < parts_; ++part) { arrived.push_back(send(s.there, s.work, part)); }
    for (const int key : arrived) {
      out_.add({join_piece(phase, key)}, nullptr);
      const int part = static_cast<int>(returned.size());
      compute(s.work, s.back, part);
      returned.push_back(send(s.back, s.end, part));
    }
    for (const int key : returned) { out_.add({join_piece(phase, key)}, nullptr); }
  }

  const KernelPieces& list_;
  const models::OpGraph& graph_;
  const cost::Device& device_;
  int parts_;
  int key_ = kFirstKey;
  KernelPieces out_;
};

}  // namespace

Bytes weights_of(const models::OpGraph& graph, const Kernel& kernel) {
  Bytes sum;
  for (const models::OpId id : kernel.ops) {
    const models::Op& op = graph.ops[static_cast<std::size_t>(id)];
    if (!models::is_weight_product(op.kind)) { continue; }
    for (const models::Operand& w : op.weights) {
      sum += models::elements(w.shape) *
             Bytes{size_of(graph.tensors[static_cast<std::size_t>(w.tensor)].dtype)};
    }
  }
  return sum;
}

void KernelPieces::add(const std::vector<Piece>& more, const Kernel* kernel) {
  for (const Piece& piece : more) {
    pieces.push_back(piece);
    kernels.push_back(piece.kind == PieceKind::compute ? kernel : nullptr);
  }
}

void chunk_exchanges(KernelPieces& list, const models::OpGraph& graph, const cost::Device& device,
                     int parts) {
  if (parts > 1) { list = Chunker(list, graph, device, parts).run(); }
}

}  // namespace tsim::strategies
