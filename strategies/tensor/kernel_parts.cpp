#include "strategies/tensor/kernel_parts.hpp"

#include <algorithm>

#include "cost/roofline.hpp"

namespace tsim::strategies {
namespace {

using cost::CollectiveOp;
using models::Kernel;

// Keys of communications beside parts; 0 is for those beside the weights' gradients.
constexpr int kBefore = 1;
constexpr int kAfter = 2;

bool gathers(const Communication& c) { return c.op == CollectiveOp::all_gather; }
bool adds_up(const Communication& c) {
  return c.op == CollectiveOp::reduce_scatter || c.op == CollectiveOp::all_reduce;
}

std::vector<Communication> over_runs(const std::vector<ShardComm>& comms) {
  std::vector<Communication> result;
  result.reserve(comms.size());
  for (const ShardComm& c : comms) { result.push_back(over_run(c)); }
  return result;
}

/// A panel's product: each reads a panel of both operands, which together are the rank's blocks,
/// or makes a panel of the result.
KernelParts in_panels(const Kernel& kernel, const KernelComms& comms) {
  const int panels = comms.panels->panels;
  Kernel panel = kernel;
  panel.flops = kernel.flops / panels;
  if (kernel.cls == models::OpClass::contraction) {
    panel.k = std::max<std::int64_t>(1, kernel.k / panels);
  } else {
    panel.bytes = Bytes{kernel.bytes.value / panels};
  }
  const auto count = static_cast<std::size_t>(panels);
  return {.kernels = {count, panel},
          .before = {count, over_runs(comms.panels->before)},
          .after = {count, over_runs(comms.panels->after)},
          .first = comms.before,
          .last = comms.after};
}

/// Parts of the rows. All read the whole weight.
std::vector<Kernel> row_chunks(const Kernel& kernel, const Chunking& chunking) {
  const std::int64_t n = chunking.count;
  std::vector<Kernel> chunks;
  chunks.reserve(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t rows = kernel.m * (i + 1) / n - kernel.m * i / n;
    const double share = static_cast<double>(rows) / static_cast<double>(kernel.m);
    Kernel chunk = kernel;
    chunk.m = rows;
    chunk.flops = share * kernel.flops;
    const double others = share * to_double(kernel.bytes - chunking.weight);
    chunk.bytes = chunking.weight + Bytes{static_cast<std::int64_t>(others)};
    chunks.push_back(chunk);
  }
  return chunks;
}

/// Splits those of `comms` that `pick` admits over the parts and returns the others.
template <class Pick>
std::vector<Communication> spread(const std::vector<Communication>& comms, Pick pick,
                                  std::vector<std::vector<Communication>>& parts) {
  std::vector<Communication> rest;
  for (Communication c : comms) {
    if (!pick(c)) {
      rest.push_back(c);
      continue;
    }
    const std::vector<Bytes> sizes = split(c.size, static_cast<int>(parts.size()));
    for (std::size_t i = 0; i < parts.size(); ++i) {
      c.size = sizes[i];
      parts[i].push_back(c);
    }
  }
  return rest;
}

bool can_chunk(const Kernel& kernel, const KernelComms& comms, int count) {
  return count > 1 && kernel.kind == models::OpKind::matmul && kernel.m >= count &&
         (std::any_of(comms.before.begin(), comms.before.end(), gathers) ||
          std::any_of(comms.after.begin(), comms.after.end(), adds_up));
}

}  // namespace

Communication over_run(const ShardComm& c) {
  const bool of_experts = c.axis == GroupAxis::plane;
  const Stream stream = c.axis == GroupAxis::tensor ? Stream::tp
                        : of_experts                ? Stream::ep
                                                    : Stream::cp;
  return {c.kind, {c.axis, c.ranks.size, c.ranks.stride}, stream, c.size, c.layer, c.root};
}

KernelParts kernel_parts(const Kernel& kernel, const KernelComms& comms, const Chunking& chunking) {
  if (comms.panels != nullptr) { return in_panels(kernel, comms); }
  if (!can_chunk(kernel, comms, chunking.count)) {
    return {.kernels = {kernel},
            .before = {1, std::vector<Communication>{}},
            .after = {1, std::vector<Communication>{}},
            .first = comms.before,
            .last = comms.after};
  }
  KernelParts parts;
  parts.kernels = row_chunks(kernel, chunking);
  parts.before.resize(parts.kernels.size());
  parts.after.resize(parts.kernels.size());
  parts.first = spread(comms.before, gathers, parts.before);
  parts.last = spread(comms.after, adds_up, parts.after);
  return parts;
}

std::vector<Piece> pieces_of(const KernelParts& parts, const PartRules& rules,
                             const cost::Device& device) {
  std::vector<Piece> pieces;
  const auto add = [&](PieceKind kind, const std::vector<Communication>& comms, int key) {
    for (const Communication& c : comms) {
      pieces.push_back(comm_piece(kind, rules.phase, c, key));
    }
  };
  const std::size_t count = parts.kernels.size();
  const bool beside = rules.beside >= 0;
  const int after = beside ? rules.beside : kAfter;
  const double share = 1.0 / static_cast<double>(count);
  add(PieceKind::comm, parts.first, 0);
  add(PieceKind::comm, parts.before.front(), 0);
  for (std::size_t i = 0; i < count; ++i) {
    if (i + 1 < count) { add(PieceKind::async_comm, parts.before[i + 1], kBefore); }
    Piece piece = kernel_piece(parts.kernels[i], device, rules.phase);
    piece.model_flops = share * rules.model_flops;
    pieces.push_back(piece);
    if (i + 1 < count && !parts.before[i + 1].empty()) {
      pieces.push_back(join_piece(rules.phase, kBefore));
    }
    add(PieceKind::async_comm, parts.after[i], after);
  }
  const bool waits = !beside && !parts.after.back().empty();
  if (waits) { pieces.push_back(join_piece(rules.phase, kAfter)); }
  add(beside ? PieceKind::async_comm : PieceKind::comm, parts.last, beside ? rules.beside : 0);
  return pieces;
}

Piece kernel_piece(const Kernel& kernel, const cost::Device& device, Phase phase) {
  Piece piece;
  piece.phase = phase;
  piece.on_device = cost::kernel_time(kernel, device);
  piece.launches = 1;
  piece.hardware_flops = kernel.cls == models::OpClass::contraction ? kernel.flops : Flops{};
  return piece;
}

}  // namespace tsim::strategies
