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

/// The dense peak for products in `dtype`, or in the next wider format that the device has.
FlopsPerSecond matrix_rate(const Device& device, models::DType dtype);

/// A kernel's time and where it comes from.
struct KernelTime {
  Seconds time;
  Origin origin = Origin::roofline;
};

/// The time as it was measured, interpolated between measured shapes or read off a surface fitted
/// through them; without any of these the roofline's. A kernel that moves other bytes than the one
/// that was timed takes the same share of the bandwidth.
KernelTime kernel_lookup(const models::Kernel& kernel, const Device& device);

/// The time of kernel_lookup(). The roofline's is max(FLOPs / achieved FLOP/s,
/// bytes / achieved bytes/s) + launch, and on top what a product that adds to a sum in fp32 moves
/// besides its result, at the device's sum_bandwidth. A device without a peak for the kernel's
/// format computes it in the next wider one it has.
///   [Williams, Waterman, Patterson, CACM 52(4), 2009]
Seconds kernel_time(const models::Kernel& kernel, const Device& device);

/// Time of kernels run one after the other: the device's sum, or the host's launches if these take
/// longer.
Seconds run_time(std::span<const models::Kernel> kernels, const Device& device);

}  // namespace tsim::cost
