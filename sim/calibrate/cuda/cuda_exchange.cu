// The part of CudaOps that moves values between devices and between tokens and experts.
#include "sim/calibrate/cuda/cuda_ops.hpp"

namespace tsim::calibrate {

void CudaOps::order(cudaStream_t from, cudaStream_t to) {
  const Event now;
  now.record(from);
  check(cudaStreamWaitEvent(to, now.get(), 0));
}

void CudaOps::reduce_tensor(Half* x, long count) {
  if (s_.tensor == 1) { return; }
  mark(StackClass::communication);
  exchange_.sum_tensor(x, static_cast<std::size_t>(count), stream_);
}

void CudaOps::gradients_ready(std::size_t from, std::size_t to) {
  if (s_.data == 1) { return; }
  order(stream_, sums_);
  exchange_.sum_data(gradients_ + from, to - from, sums_);
}

void CudaOps::experts_ready(std::size_t from, std::size_t to) {
  if (s_.data == s_.expert_ranks) { return; }
  order(stream_, sums_);
  exchange_.sum_experts(gradients_ + from, to - from, sums_);
}

void CudaOps::reduce_data() {
  if (s_.data == 1) { return; }
  mark(StackClass::communication);
  order(sums_, stream_);
}

void CudaOps::sum_embedding(std::size_t at, long count) {
  mark(StackClass::communication);
  exchange_.sum_ends(gradients_ + at, static_cast<std::size_t>(count), stream_);
}

void CudaOps::receive(Way& way, Half* x, long count, bool forward) {
  order(stream_, way.stream);  // who reads the array still may
  exchange_.receive(x, static_cast<std::size_t>(count), forward, way.stream);
  way.under_way.emplace_back(x, Event());
  way.under_way.back().second.record(way.stream);
}

Half* CudaOps::await(Way& way) {
  mark(StackClass::communication);
  Half* const x = way.under_way.front().first;
  check(cudaStreamWaitEvent(stream_, way.under_way.front().second.get(), 0));
  way.under_way.pop_front();
  return x;
}

void CudaOps::receive_forward(Half* x, long count) { receive(receive_forward_, x, count, true); }

void CudaOps::receive_backward(long count) {
  receive(receive_backward_, received_.take(), count, false);
}

void CudaOps::await_forward() { await(receive_forward_); }

const Half* CudaOps::await_backward() { return await(receive_backward_); }

void CudaOps::send_forward(const Half* x, long count) {
  order(stream_, send_forward_.stream);
  exchange_.send(x, static_cast<std::size_t>(count), true, send_forward_.stream);
}

void CudaOps::send_backward(const Half* x, long count) {
  order(stream_, send_backward_.stream);
  exchange_.send(x, static_cast<std::size_t>(count), false, send_backward_.stream);
  send_backward_.under_way.emplace_back(nullptr, Event());
  send_backward_.under_way.back().second.record(send_backward_.stream);
}

Half* CudaOps::room_backward() {
  if (send_backward_.under_way.size() == 2) { await(send_backward_); }
  return sent_.take();
}

Routed CudaOps::routed() const {
  return {.tokens = static_cast<int>(s_.tokens()),
          .top_k = static_cast<int>(s_.top_k),
          .experts = static_cast<int>(s_.experts),
          .columns = static_cast<int>(s_.hidden),
          .places = places_,
          .chosen = chosen_};
}

void CudaOps::route(const Half* scores, float* shares) {
  mark(StackClass::elementwise);
  run_route(routed(), scores, shares, stream_);
}

void CudaOps::route_back(const Half* scores, const float* dshares, Half* dscores) {
  mark(StackClass::elementwise);
  run_route_back(routed(), scores, dshares, dscores, stream_);
}

void CudaOps::permute(const Half* x, Half* rows) {
  mark(StackClass::elementwise);
  run_permute(routed(), x, rows, stream_);
}

void CudaOps::permute_back(const Half* drows, Half* dx) {
  mark(StackClass::elementwise);
  run_combine(routed(), drows, nullptr, dx, stream_);
}

void CudaOps::combine(const Half* rows, const float* shares, Half* x) {
  mark(StackClass::elementwise);
  run_combine(routed(), rows, shares, x, stream_);
}

void CudaOps::combine_back(const Half* dx, const ExpertResults<Half>& results, Half* drows,
                           float* dshares) {
  mark(StackClass::elementwise);
  run_combine_back(routed(), {dx, results.rows, results.shares, drows, dshares}, stream_);
}

/// What one rank sends another: a block for each of its experts.
void CudaOps::dispatch(const Half* rows, Half* y) {
  const auto ranks = static_cast<int>(s_.expert_ranks);
  const std::size_t part = static_cast<std::size_t>(s_.tokens() * s_.top_k * s_.hidden) / ranks;
  const auto inner = static_cast<int>(s_.local_experts());
  mark(StackClass::communication);
  exchange_.all_to_all(rows, exchanged_, part, stream_);
  mark(StackClass::elementwise);
  run_regroup({ranks, inner, part / inner}, exchanged_, y, stream_);
}

void CudaOps::collect(const Half* y, Half* rows) {
  const auto ranks = static_cast<int>(s_.expert_ranks);
  const std::size_t part = static_cast<std::size_t>(s_.tokens() * s_.top_k * s_.hidden) / ranks;
  const auto inner = static_cast<int>(s_.local_experts());
  mark(StackClass::elementwise);
  run_regroup({inner, ranks, part / inner}, y, exchanged_, stream_);
  mark(StackClass::communication);
  exchange_.all_to_all(exchanged_, rows, part, stream_);
}

}  // namespace tsim::calibrate
