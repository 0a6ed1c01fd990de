#include <algorithm>
#include <array>
#include <vector>

#include "sim/calibrate/cuda/exchange.hpp"

#ifdef TSIM_HAVE_NCCL
#include <nccl.h>
#endif

namespace tsim::calibrate {

StackRank rank_of(const StackShape& s, int device) {
  return {device % s.tensor, device / s.tensor % s.pipeline, device / (s.tensor * s.pipeline)};
}

namespace {

void check_devices(const StackShape& shape) {
  int devices = 0;
  check(cudaGetDeviceCount(&devices));
  if (shape.devices() > devices) {
    throw NotHere("found " + std::to_string(devices) + " devices, the stack needs " +
                  std::to_string(shape.devices()));
  }
}

}  // namespace

#ifdef TSIM_HAVE_NCCL

namespace {

constexpr std::size_t kBucket = (std::size_t{25} << 20) / sizeof(Half);  // as PyTorch's DDP

void check_nccl(ncclResult_t status) {
  if (status != ncclSuccess) {
    throw std::runtime_error(std::string("NCCL: ") + ncclGetErrorString(status));
  }
}

void sum(ncclComm_t comm, Half* values, std::size_t count, cudaStream_t stream) {
  check_nccl(ncclAllReduce(values, values, count, ncclBfloat16, ncclSum, comm, stream));
}

void sum_in_buckets(ncclComm_t comm, Half* values, std::size_t count, cudaStream_t stream) {
  if (comm == nullptr) { return; }
  for (std::size_t from = 0; from < count; from += kBucket) {
    sum(comm, values + from, std::min(kBucket, count - from), stream);
  }
}

}  // namespace

struct World::State {
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

World::World(const StackShape& shape) {
  check_devices(shape);
  if (shape.devices() > 1) { state_ = std::make_unique<State>(static_cast<int>(shape.devices())); }
}

namespace {

/// One value from a pair's first rank to its second, or the other way, and waits for it. NCCL makes
/// a pair's connection at its first message and waits for the device meanwhile: forever, if that
/// runs a receive whose sender waits in its turn.
void connect(ncclComm_t comm, bool sends, bool forward, cudaStream_t stream, Half* value) {
  if (comm == nullptr) { return; }
  const int peer = sends == forward ? 1 : 0;
  check_nccl(sends ? ncclSend(value, 1, ncclBfloat16, peer, comm, stream)
                   : ncclRecv(value, 1, ncclBfloat16, peer, comm, stream));
  check(cudaStreamSynchronize(stream));
}

}  // namespace

struct Exchange::State {
  ncclComm_t tensor = nullptr, data = nullptr, holders = nullptr, experts = nullptr, ends = nullptr;
  // [0] forward, [1] back; a pair's first rank is the earlier stage.
  std::array<ncclComm_t, 2> before{}, behind{};
  long expert_ranks = 1;

  State() = default;
  ~State() {
    for (ncclComm_t comm :
         {tensor, data, holders, experts, ends, before[0], before[1], behind[0], behind[1]}) {
      if (comm != nullptr) { ncclCommDestroy(comm); }
    }
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

Exchange::Exchange(const World& world, const StackShape& s, int device)
    : state_(std::make_unique<State>()) {
  if (!world.state_) { return; }
  ncclComm_t all = world.state_->comms[static_cast<std::size_t>(device)];
  const StackRank rank = rank_of(s, device);
  const auto split = [&](ncclComm_t& part, bool member, long group) {
    check_nccl(ncclCommSplit(all, member ? static_cast<int>(group) : NCCL_SPLIT_NOCOLOR, device,
                             &part, nullptr));
  };
  State& state = *state_;
  state.expert_ranks = s.expert_ranks;
  const long column = rank.tensor + s.tensor * rank.replica;  // the devices of a pipeline
  const long row = rank.tensor + s.tensor * rank.stage;       // those of all replicas
  const long holder = rank.replica % s.expert_ranks;
  split(state.tensor, s.tensor > 1, device / s.tensor);
  split(state.data, s.data > 1, row);
  split(state.experts, s.expert_ranks > 1,
        row + s.tensor * s.pipeline * (rank.replica / s.expert_ranks));
  split(state.holders, s.data > s.expert_ranks, row + s.tensor * s.pipeline * holder);
  split(state.ends, s.pipeline > 1 && (rank.stage == 0 || rank.stage == s.pipeline - 1), column);
  for (long stage = 0; stage + 1 < s.pipeline; ++stage) {
    for (std::size_t way = 0; way < 2; ++way) {
      ncclComm_t pair = nullptr;
      split(pair, rank.stage == stage || rank.stage == stage + 1, column);
      if (rank.stage == stage) { state.behind[way] = pair; }
      if (rank.stage == stage + 1) { state.before[way] = pair; }
    }
  }
  if (s.pipeline > 1) { connect_stages(); }
}

void Exchange::connect_stages() const {
  cudaStream_t stream = nullptr;
  Half* value = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  check(cudaMalloc(&value, sizeof(Half)));
  connect(state_->before[0], false, true, stream, value);
  connect(state_->behind[0], true, true, stream, value);
  connect(state_->behind[1], false, false, stream, value);
  connect(state_->before[1], true, false, stream, value);
  check(cudaFree(value));
  check(cudaStreamDestroy(stream));
}

void Exchange::sum_tensor(Half* values, std::size_t count, cudaStream_t stream) const {
  if (state_->tensor != nullptr) { sum(state_->tensor, values, count, stream); }
}

void Exchange::sum_data(Half* values, std::size_t count, cudaStream_t stream) const {
  sum_in_buckets(state_->data, values, count, stream);
}

void Exchange::sum_experts(Half* values, std::size_t count, cudaStream_t stream) const {
  sum_in_buckets(state_->holders, values, count, stream);
}

void Exchange::sum_ends(Half* values, std::size_t count, cudaStream_t stream) const {
  if (state_->ends != nullptr) { sum(state_->ends, values, count, stream); }
}

void Exchange::all_to_all(const Half* from, Half* to, std::size_t count,
                          cudaStream_t stream) const {
  check_nccl(ncclGroupStart());
  for (int peer = 0; peer < static_cast<int>(state_->expert_ranks); ++peer) {
    const std::size_t at = count * static_cast<std::size_t>(peer);
    check_nccl(ncclSend(from + at, count, ncclBfloat16, peer, state_->experts, stream));
    check_nccl(ncclRecv(to + at, count, ncclBfloat16, peer, state_->experts, stream));
  }
  check_nccl(ncclGroupEnd());
}

void Exchange::send(const Half* values, std::size_t count, bool forward,
                    cudaStream_t stream) const {
  ncclComm_t comm = forward ? state_->behind[0] : state_->before[1];
  check_nccl(ncclSend(values, count, ncclBfloat16, forward ? 1 : 0, comm, stream));
}

void Exchange::receive(Half* values, std::size_t count, bool forward, cudaStream_t stream) const {
  ncclComm_t comm = forward ? state_->before[0] : state_->behind[1];
  check_nccl(ncclRecv(values, count, ncclBfloat16, forward ? 0 : 1, comm, stream));
}

#else

struct World::State {};
World::World(const StackShape& shape) {
  if (shape.devices() > 1) { throw NotHere("built without NCCL, which several devices need"); }
  check_devices(shape);
}
struct Exchange::State {};
Exchange::Exchange(const World&, const StackShape&, int) {}
void Exchange::connect_stages() const {}
void Exchange::sum_tensor(Half*, std::size_t, cudaStream_t) const {}
void Exchange::sum_data(Half*, std::size_t, cudaStream_t) const {}
void Exchange::sum_experts(Half*, std::size_t, cudaStream_t) const {}
void Exchange::sum_ends(Half*, std::size_t, cudaStream_t) const {}
void Exchange::all_to_all(const Half*, Half*, std::size_t, cudaStream_t) const {}
void Exchange::send(const Half*, std::size_t, bool, cudaStream_t) const {}
void Exchange::receive(Half*, std::size_t, bool, cudaStream_t) const {}

#endif

World::~World() = default;
Exchange::~Exchange() = default;

}  // namespace tsim::calibrate
