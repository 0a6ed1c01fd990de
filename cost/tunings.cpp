#include "cost/tunings.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace tsim::cost {
namespace {

using enum CollectiveOp;

/// Microseconds.
struct Alpha {
  double start = 0, step = 0, network_step = 0, least = 0;
};

/// `share` of the wires; `buffer` in GB/s, 0 for none.
struct Beta {
  double share = 1, buffer = 0;
};

/// What a regime holds for: all, one operation, or one algorithm of it.
struct For {
  std::optional<CollectiveOp> op{};
  std::string algorithm{};
};

Regime row(std::string protocol, For which, Alpha alpha, Beta beta) {
  Regime r;
  r.protocol = std::move(protocol);
  r.op = which.op;
  r.algorithm = std::move(which.algorithm);
  r.start = {alpha.start * 1e-6};
  r.step = {alpha.step * 1e-6};
  r.network_step = {alpha.network_step * 1e-6};
  r.share = beta.share;
  if (beta.buffer > 0) { r.buffer = {beta.buffer * 1e9}; }
  r.least = {alpha.least * 1e-6};
  return r;
}

// Steps between nodes where no fit tells otherwise: NCCL's own constants for its choice of
// algorithms, a ring's over a network 2.7, 4.0 and 14 us for LL, LL128 and Simple, a
// tree's 5.0, 8.5 and 14   [NVIDIA/nccl, src/graph/tuning.cc, hwLat].
constexpr double kRingLl = 2.7, kRingLl128 = 4.0, kTreeLl = 5.0, kTreeLl128 = 8.5, kSimple = 14;

// NCCL's tree is a chain inside a node of 8, 14 steps up and down; a binary tree has 6.
constexpr double chain_step(double step) { return (step + 0.5) * 14 / 6 - 0.5; }

Tuning a100() {
  return {
      "nccl-a100-nvswitch",
      "all-reduce: VIA-Research/vTrain NCCL sweep, rows of 2 and 8 GPUs, and the rows up to 512 "
      "KiB "
      "of microsoft/superbenchmark's 8 x A100 log; other operations: every second row of that log; "
      "step between nodes in an LL tree: the 4-byte row of NVIDIA/nccl issue 652",
      {row("LL", {}, {24.7, 0.2, kRingLl}, {0.117}),
       row("LL128", {}, {30, 2.6, kRingLl128}, {0.65}),
       row("Simple", {}, {37.5, 4.25, kSimple}, {0.973, 604}),
       row("LL", {all_reduce, "tree"}, {24.7, chain_step(0.2), 2.4}, {0.117}),
       row("LL128", {all_reduce, "tree"}, {30, chain_step(2.6), kTreeLl128}, {0.65}),
       row("Simple", {all_reduce, "tree"}, {37.5, chain_step(4.25), kSimple}, {0.973, 604}),
       row("LL", {all_gather}, {29.6, 0.2, kRingLl}, {0.063}),
       row("LL128", {all_gather}, {33.6, 2.7, kRingLl128}, {0.333}),
       row("Simple", {all_gather}, {72, 4.25, kSimple}, {0.973, 900}),
       row("LL", {reduce_scatter}, {29.6, 0.2, kRingLl}, {0.063}),
       row("LL128", {reduce_scatter}, {33.6, 2.7, kRingLl128}, {0.333}),
       row("Simple", {reduce_scatter}, {55, 4.25, kSimple}, {0.973, 1150}),
       row("LL", {all_to_all}, {86.5, 0, kSimple}, {0.707}),
       row("LL128", {all_to_all}, {86.5, 0, kSimple}, {0.707}),
       row("Simple", {all_to_all}, {86.5, 0, kSimple}, {0.707})}};
}

/// Steps between nodes of the three protocols, and of in-switch reductions.
struct Between {
  double ll, ll128, simple, in_switch;
};

std::vector<Regime> h100_regimes(Between ring, Between tree, double tree_ll_share) {
  return {row("LL", {}, {6.1, 0.05, ring.ll}, {0.022}),
          row("LL128", {}, {9.3, 0.05, ring.ll128}, {0.4}),
          row("Simple", {}, {20, 1.5, ring.simple}, {0.822}),
          row("LL", {all_reduce, "tree"}, {6.1, chain_step(0.05), tree.ll}, {tree_ll_share}),
          row("LL128", {all_reduce, "tree"}, {9.3, chain_step(0.05), tree.ll128}, {0.36}),
          row("Simple", {all_reduce, "tree"}, {20, chain_step(1.5), tree.simple}, {0.822}),
          row("LL", {all_reduce, "in_switch"}, {61, 0, tree.in_switch}, {0.675}),
          row("LL128", {all_reduce, "in_switch"}, {61, 0, tree.in_switch}, {0.675}),
          row("Simple", {all_reduce, "in_switch"}, {61, 0, tree.in_switch}, {0.675})};
}

Tuning h100() {
  const Between ring{kRingLl, kRingLl128, kSimple, 0};
  const Between tree{kTreeLl, kTreeLl128, kSimple, 134};
  return {
      "nccl-h100-nvswitch",
      "in-switch all-reduce, LL and LL128: every second row of an 8 x H100 nccl-tests log; ring: "
      "370 GB/s (NVIDIA/nccl-tests issue 212); in-switch step between nodes as nccl-h100-efa",
      h100_regimes(ring, tree, 0.022)};
}

Tuning h100_efa() {
  const Between steps{24, 47, 95, 134};
  return {"nccl-h100-efa",
          "as nccl-h100-nvswitch; steps between nodes: every second row of a 16 x H100 nccl-tests "
          "log on two nodes with EFA",
          h100_regimes(steps, steps, 0.0031)};
}

Tuning b200() {
  // A ring step as the source counts it, less two latencies of 0.5 us of the path. In the switch an
  // all-reduce takes what the same figures give a ring of eight.
  return {"nccl-b200-nvswitch",
          "8 x B200: rates and latencies in SimuMax configs/system/b200_bf16_ceperm.json, "
          "github.com/MooreThreads/SimuMax, fitted there to bursts of collectives in Megatron-LM's "
          "order; GiB/s of 900, latency a step and once",
          {row("Simple", {}, {23.1, 8.2, kSimple}, {0.723}),
           row("Simple", {all_reduce}, {22.2, 4.5, kSimple}, {0.797}),
           row("Simple", {all_reduce, "in_switch"}, {99, 0, kSimple}, {0.455}),
           row("Simple", {reduce_scatter}, {25.6, 7, kSimple}, {0.723}),
           row("Simple", {all_to_all}, {51, 0, kSimple}, {0.641}),
           row("Simple", {send_recv}, {16, 0, kSimple}, {1})}};
}

Tuning h200_pair() {
  return {"nccl-h200-pair",
          "2 x H200, PyTorch 2.11 and NCCL 2.28.9: the rows up to 64 KiB, of 64 MiB and of 1 GiB",
          {row("Simple", {}, {12, 0, kSimple, 21}, {0.82}),
           row("Simple", {send_recv}, {12, 0, kSimple, 24}, {0.82}),
           row("Simple", {all_reduce}, {18, 0, kSimple, 21}, {0.818, 2200}),
           row("Simple", {all_gather}, {19, 0, kSimple, 20}, {0.818, 1550}),
           row("Simple", {reduce_scatter}, {19, 0, kSimple, 21}, {0.818, 1550}),
           row("Simple", {all_to_all}, {22, 0, kSimple, 22}, {0.818, 4000})}};
}

/// Kernels that send tokens to experts and bring results back, beside NCCL's.
Tuning deepep_h800() {
  std::vector<Regime> regimes =
      h100_regimes({kRingLl, kRingLl128, kSimple, 0}, {kTreeLl, kTreeLl128, kSimple, 134}, 0.022);
  for (const char* protocol : {"LL", "LL128", "Simple"}) {
    regimes.push_back(row(protocol, {all_to_all}, {20}, {0.85}));
  }
  return {"deepep-h800",
          "all-to-all: share of the wires from the rows of normal kernels on 8 H800 (153 and 158 "
          "GB/s, own tokens counted), start from the low-latency combine on 8 (114 us), "
          "deepseek-ai/DeepEP, README of 2025; other operations as nccl-h100-nvswitch",
          std::move(regimes)};
}

Tuning v100() {
  return {"nccl-v100-cube-mesh",
          "VIA-Research/vTrain NCCL sweep on V100, rows of 2 and 8 GPUs",
          {row("Simple", {}, {16.5, 3.4, kSimple}, {1.0})}};
}

}  // namespace

std::span<const Tuning> tunings() {
  static const std::vector<Tuning> all{a100(),      h100(),        h100_efa(), b200(),
                                       h200_pair(), deepep_h800(), v100()};
  return all;
}

std::optional<Tuning> tuning_named(std::string_view name) {
  for (const Tuning& tuning : tunings()) {
    if (tuning.name == name) { return tuning; }
  }
  return std::nullopt;
}

}  // namespace tsim::cost
