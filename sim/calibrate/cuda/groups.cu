#include <vector>

#include "sim/calibrate/cuda/products.hpp"

namespace tsim::calibrate {
namespace {

constexpr std::size_t kLanes = 4;  // of multi_stream_cublas_gemm in Transformer Engine

/// A stream with a library of its own, since products of one stream share its workspace.
struct Lane {
  Blas blas;
  ProductPlan plan;
  Stream stream;
  Event done;

  explicit Lane(const Product& product) : plan(blas, product) {}
};

class Groups {
 public:
  Groups(const Product& all, cudaStream_t stream) : groups_(all.batch), stream_(stream) {
    Product one = all;
    one.batch = 1;
    const Format format = format_of(all.dtype);
    const bool wide = all.layout == "tn+" || format == Format::fp32;
    a_ = operand(one.m * one.k * static_cast<long>(size_of(format)));
    b_ = operand(one.n * one.k * static_cast<long>(size_of(format)));
    c_ = operand(one.m * one.n * (wide ? 4 : 2));
    fill(a_.all, format, stream);
    fill(b_.all, format, stream);
    check(cudaMemsetAsync(c_.all.data(), 0, c_.all.size(), stream));
    for (std::size_t i = 0; i < kLanes; ++i) { lanes_.push_back(std::make_unique<Lane>(one)); }
  }

  void operator()() const {
    start_.record(stream_);
    for (const auto& lane : lanes_) { check(cudaStreamWaitEvent(lane->stream, start_.get())); }
    for (long i = 0; i < groups_; ++i) {
      const Lane& lane = *lanes_[static_cast<std::size_t>(i) % kLanes];
      lane.plan.run({a_.of(i), b_.of(i), c_.of(i)}, lane.stream);
    }
    for (const auto& lane : lanes_) {
      lane->done.record(lane->stream);
      check(cudaStreamWaitEvent(stream_, lane->done.get()));
    }
  }

 private:
  struct Matrices {
    Buffer all;
    long each = 0;
    void* of(long group) const { return all.as<char>() + group * each; }
  };
  Matrices operand(long bytes) const {
    return {Buffer::on_device(static_cast<std::size_t>(groups_ * bytes)), bytes};
  }

  long groups_;
  cudaStream_t stream_;
  Matrices a_, b_, c_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  Event start_;
};

}  // namespace

Summary time_groups(const Product& product, cudaStream_t stream) {
  const Groups groups(product, stream);
  return time_calls([&](int) { groups(); }, stream);
}

}  // namespace tsim::calibrate
