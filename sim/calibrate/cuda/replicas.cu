#include <algorithm>
#include <vector>

#include "sim/calibrate/cuda/replicas.hpp"

#ifdef TSIM_HAVE_NCCL
#include <nccl.h>
#endif

namespace tsim::calibrate {

#ifdef TSIM_HAVE_NCCL

namespace {

constexpr std::size_t kBucket = (std::size_t{25} << 20) / sizeof(Half);  // as PyTorch's DDP

void check_nccl(ncclResult_t status) {
  if (status != ncclSuccess) {
    throw std::runtime_error(std::string("NCCL: ") + ncclGetErrorString(status));
  }
}

}  // namespace

struct Replicas::State {
  std::vector<ncclComm_t> comms;

  explicit State(int count) : comms(static_cast<std::size_t>(count)) {
    check_nccl(ncclCommInitAll(comms.data(), count, nullptr));
  }
  ~State() {
    for (ncclComm_t comm : comms) { ncclCommDestroy(comm); }
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

Replicas::Replicas(int count) : count_(count) {
  int devices = 0;
  check(cudaGetDeviceCount(&devices));
  if (count > devices) {
    throw NotHere("found " + std::to_string(devices) + " devices for " + std::to_string(count) +
                  " replicas");
  }
  if (count > 1) { state_ = std::make_unique<State>(count); }
}

void Replicas::sum(int replica, Half* values, std::size_t count, cudaStream_t stream) const {
  ncclComm_t comm = state_->comms[static_cast<std::size_t>(replica)];
  for (std::size_t from = 0; from < count; from += kBucket) {
    const std::size_t size = std::min(kBucket, count - from);
    check_nccl(
        ncclAllReduce(values + from, values + from, size, ncclBfloat16, ncclSum, comm, stream));
  }
}

#else

struct Replicas::State {};
Replicas::Replicas(int count) : count_(count) {
  if (count > 1) { throw NotHere("built without NCCL, which replicas need"); }
}
void Replicas::sum(int, Half*, std::size_t, cudaStream_t) const {}

#endif

Replicas::~Replicas() = default;

}  // namespace tsim::calibrate
