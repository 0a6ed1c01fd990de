// Times of NCCL's operations between the devices of this host, alone and beside a product.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "sim/calibrate/cuda/overlap.hpp"

namespace tsim::calibrate {

/// Communicators over the first 2, 3, ... devices, made when first asked for.
class Collectives {
 public:
  Collectives();
  ~Collectives();
  /// `bytes` as nccl-tests counts them: the whole buffer; of an all-gather or reduce-scatter the
  /// gathered one; of an all-to-all what a rank holds. The values are bf16.
  Summary time(const std::string& op, int ranks, std::size_t bytes);
  /// Eight products m x n x k on every device beside an all-reduce.
  Overlap overlap(const std::array<long, 3>& mnk, int ranks, std::size_t bytes);
  /// "2.28.3", or "" when tsim was built without NCCL.
  static std::string version();

 private:
  struct Group;
  Group& group(int ranks);
  std::array<std::unique_ptr<Group>, 65> groups_;
};

}  // namespace tsim::calibrate
