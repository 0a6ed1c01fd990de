// Which part of a tensor each rank of a tensor-parallel group holds.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tsim::strategies {

/// Ranks of a tensor group that take part in one communication: `size` of them, `stride` apart.
struct RankRun {
  int stride = 1;
  int size = 1;
  bool operator==(const RankRun&) const = default;
  auto operator<=>(const RankRun&) const = default;
};

/// A tensor over 2^k ranks. Bit b of a rank's number (worth 2^b) either numbers shards of one
/// dimension, or numbers summands that are still to be added up (`partial`), or does neither: then
/// ranks that differ in it hold the same. This is the device matrix and tensor map of MindSpore,
/// with factors that are powers of two   [arXiv:2104.12369, sec. 4; arXiv:2105.04663, sec. 3.1].
struct TensorLayout {
  std::vector<std::vector<int>> dims;  // by dimension: bits, the highest first
  std::vector<int> partial{};          // ascending
  auto operator<=>(const TensorLayout&) const = default;
};

/// k of 2^k ranks; ranks >= 1, a power of two.
int bits_of(int ranks);
bool is_power_of_two(std::int64_t n);

/// Shards of a dimension that `bits` number.
int shards(std::span<const int> bits);

/// The same with nothing left to add up.
TensorLayout summed(TensorLayout layout);

/// "[4, 1, 2] repeated 2, partial 2": shards by dimension, ranks that hold the same, summands.
std::string to_string(const TensorLayout& layout, int ranks);

}  // namespace tsim::strategies
