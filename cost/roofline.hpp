// Time of one kernel on one device.
#pragma once

#include <span>

#include "cost/device.hpp"
#include "models/kernel.hpp"

namespace tsim::cost {

/// Share of the peak that a product [m, k] x [k, n], `batch` of them, reaches when it is bound by
/// arithmetic: ceiling x filled tiles x filled waves x k / (k + half_k), with the best of the tiles
/// that are to be had.  In (0, 1].
double gemm_efficiency(const GemmEfficiency& e, std::int64_t batch, std::int64_t m, std::int64_t n,
                       std::int64_t k);

/// max(FLOPs / achieved FLOP/s, bytes / achieved bytes/s) + launch.
/// A device without a peak for the kernel's format computes it in the next wider one it has.
///   [Williams, Waterman, Patterson, CACM 52(4), 2009]
Seconds kernel_time(const models::Kernel& kernel, const Device& device);

/// Time of kernels run one after the other: the device's sum, or the host's launches if these take
/// longer.
Seconds run_time(std::span<const models::Kernel> kernels, const Device& device);

}  // namespace tsim::cost
