// Times of copies and of starting kernels.
#pragma once

#include <string>

#include "sim/calibrate/cuda/gpu.hpp"

namespace tsim::calibrate {

/// h2d, d2h (pinned host memory), d2d (within device 0), p2p (device 0 to 1), p2p_both (both ways
/// at once). NotHere when there is no second device.
Summary time_copy(const std::string& way, std::size_t bytes, cudaStream_t stream);

struct Peers {
  int from = 0, to = 1;
};
/// A copy from one device to another. NotHere when one of them is not there.
Summary time_pair(const Peers& peers, std::size_t bytes);

/// One empty kernel: "device", time from one to the next on the device; "host", what the host
/// takes to enqueue one; "graph", from one to the next inside a graph.
Summary time_launch(const std::string& what, cudaStream_t stream);

}  // namespace tsim::calibrate
