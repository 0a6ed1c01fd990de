#include <algorithm>
#include <chrono>
#include <vector>

#include "sim/calibrate/cuda/copies.hpp"

namespace tsim::calibrate {
namespace {

__global__ void empty_kernel() {}

/// Host time to enqueue calls, while the device has enough room in its queue.
Summary host_launches(cudaStream_t stream) {
  constexpr int kCalls = 200;
  std::vector<double> times;
  for (int batch = 0; batch < 50; ++batch) {
    check(cudaStreamSynchronize(stream));
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kCalls; ++i) { empty_kernel<<<1, 32, 0, stream>>>(); }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    times.push_back(took.count() * 1e6 / kCalls);
  }
  return summarise(times);
}

Summary graph_launches(cudaStream_t stream) {
  constexpr int kCalls = 500;
  cudaGraph_t graph = nullptr;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < kCalls; ++i) { empty_kernel<<<1, 32, 0, stream>>>(); }
  check(cudaStreamEndCapture(stream, &graph));
  cudaGraphExec_t ready = nullptr;
  check(cudaGraphInstantiate(&ready, graph, 0));
  Summary summary = time_calls([&](int) { check(cudaGraphLaunch(ready, stream)); }, stream);
  cudaGraphExecDestroy(ready);
  cudaGraphDestroy(graph);
  for (double* value : {&summary.median, &summary.low, &summary.high}) { *value /= kCalls; }
  return summary;
}

/// Makes `from` the current device and lets it write to device `to`, if it can.
void allow_access(int from, int to) {
  check(cudaSetDevice(from));
  int possible = 0;
  check(cudaDeviceCanAccessPeer(&possible, from, to));
  if (possible == 0) { return; }  // the copy then goes through the host
  const cudaError_t status = cudaDeviceEnablePeerAccess(to, 0);
  if (status == cudaErrorPeerAccessAlreadyEnabled) {
    cudaGetLastError();
    return;
  }
  check(status);
}

/// From the device of `stream`, the current one, to another; `both`: and back at the same time.
Summary between_devices(const Peers& peers, std::size_t bytes, bool both, cudaStream_t stream) {
  const auto [from, to] = peers;
  int devices = 0;
  check(cudaGetDeviceCount(&devices));
  if (devices <= std::max(from, to)) {
    throw NotHere("found " + std::to_string(devices) + " devices");
  }
  if (from == to) { throw NotHere("a pair is two devices"); }
  allow_access(to, from);
  const Buffer there = Buffer::on_device(bytes);
  const Buffer there_too = Buffer::on_device(bytes);
  const Stream back;
  const Event turn;
  allow_access(from, to);
  const Buffer here = Buffer::on_device(bytes);
  const Buffer here_too = Buffer::on_device(bytes);
  const Event start;
  return time_calls(
      [&](int) {
        if (both) {  // the way back begins with the way there and ends before the next call
          start.record(stream);
          check(cudaStreamWaitEvent(back, start.get(), 0));
          check(cudaMemcpyPeerAsync(here_too.data(), from, there_too.data(), to, bytes, back));
        }
        check(cudaMemcpyPeerAsync(there.data(), to, here.data(), from, bytes, stream));
        if (both) {
          turn.record(back);
          check(cudaStreamWaitEvent(stream, turn.get(), 0));
        }
      },
      stream);
}

}  // namespace

Summary time_copy(const std::string& way, std::size_t bytes, cudaStream_t stream) {
  if (way.starts_with("p2p")) { return between_devices({0, 1}, bytes, way == "p2p_both", stream); }
  const Buffer device = Buffer::on_device(bytes);
  const Buffer other = way == "d2d" ? Buffer::on_device(bytes) : Buffer::pinned(bytes);
  void* const to = way == "h2d" ? device.data() : other.data();
  const void* const from = way == "h2d" ? other.data() : device.data();
  return time_calls(
      [&](int) { check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream)); }, stream);
}

Summary time_pair(const Peers& peers, std::size_t bytes) {
  int devices = 0;
  check(cudaGetDeviceCount(&devices));
  if (devices <= peers.from) { throw NotHere("found " + std::to_string(devices) + " devices"); }
  check(cudaSetDevice(peers.from));
  Summary summary;
  {
    const Stream stream;
    summary = between_devices(peers, bytes, false, stream);
  }
  check(cudaSetDevice(0));
  return summary;
}

Summary time_launch(const std::string& what, cudaStream_t stream) {
  if (what == "host") { return host_launches(stream); }
  if (what == "graph") { return graph_launches(stream); }
  return time_calls([&](int) { empty_kernel<<<1, 32, 0, stream>>>(); }, stream);
}

}  // namespace tsim::calibrate
