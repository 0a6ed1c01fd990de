// How a communication library moves bytes: figures that measurements give, not the wires.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/units.hpp"

namespace tsim::cost {

enum class CollectiveOp : std::uint8_t {
  all_reduce,
  reduce_scatter,
  all_gather,
  broadcast,
  reduce,
  scatter,
  gather,
  all_to_all,
  send_recv,
  barrier
};
inline constexpr int kCollectiveOps = 10;
std::string_view name_of(CollectiveOp op);

/// One protocol of a library (NCCL's LL, LL128, Simple) as a piece of alpha and beta:
///   time = start + steps (path latency + step) + max(bytes / (share x wire),
///          bytes / (share x wire inside nodes) + payload / buffer),   and not less than `least`.
/// It holds for one operation and one algorithm, or for all where these are left out.
struct Regime {
  std::string protocol = "simple";
  std::optional<CollectiveOp> op;
  std::string algorithm;
  Seconds start{};         // once
  Seconds step{};          // each step inside a node, beside the path's latency
  Seconds network_step{};  // the same between nodes
  double share = 1.0;      // of the wires' bandwidth that payload gets, (0, 1]
  BytesPerSecond buffer{std::numeric_limits<double>::infinity()};  // payload through a rank's own
                                                                   // memory: beside the wires
                                                                   // between nodes, not beside
                                                                   // those inside
  Seconds least{};  // what the host takes to start it, beside the device's work
  bool operator==(const Regime&) const = default;
};

struct Tuning {
  std::string name;
  std::string source;
  std::vector<Regime> regimes{Regime{}};
  bool operator==(const Tuning&) const = default;
};

/// The regimes that an algorithm may run in: of those with the same protocol the most special one
/// (operation and algorithm named, then operation, then algorithm, then neither).
std::vector<const Regime*> regimes_for(const Tuning& tuning, CollectiveOp op,
                                       std::string_view algorithm);

}  // namespace tsim::cost
