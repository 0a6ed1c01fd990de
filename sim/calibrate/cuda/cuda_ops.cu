#include <algorithm>

#include "sim/calibrate/cuda/cuda_ops.hpp"

namespace tsim::calibrate {
namespace {

RowShape rows_of(long rows, long columns) {
  return {static_cast<int>(rows), static_cast<int>(columns)};
}

AttentionShape attention_shape(const StackShape& s) {
  return {.dtype = "bf16",
          .samples = s.batch,
          .heads = s.heads,
          .queries = s.sequence,
          .keys = s.sequence,
          .width = s.width(),
          .causal = s.causal,
          .token_stride = 3 * s.hidden,
          .out_token_stride = s.hidden};
}

const char* layout_name(Layout layout) {
  return layout == Layout::nt ? "nt" : layout == Layout::nn ? "nn" : "tn";
}

}  // namespace

CudaOps::CudaOps(const StackShape& shape, const Replicas& replicas, int replica)
    : s_(shape),
      replicas_(replicas),
      replica_(replica),
      parameters_(places_of(shape).size),
      attention_(attention_shape(shape), true, true) {
  weights_ = values(parameters_);
  gradients_ = values(parameters_);
  master_ = floats(parameters_);
  first_ = floats(parameters_);
  second_ = floats(parameters_);
  const auto tokens = static_cast<std::size_t>(s_.tokens());
  const std::size_t logits = tokens * static_cast<std::size_t>(s_.vocab);
  for (long i = 0; i < s_.layers; ++i) {
    stats_.push_back(floats(tokens * static_cast<std::size_t>(s_.heads)));
  }
  dparts_ = values(3 * tokens * static_cast<std::size_t>(s_.hidden));
  logits_ = floats(logits);
  dlogits_ = floats(logits);
  losses_ = floats(tokens);
  loss_kept_ = floats(2 * tokens);
  const auto widest = static_cast<int>(std::max(s_.ffn, 3 * s_.hidden));
  partial_ = floats(std::max(norm_partial(static_cast<int>(s_.hidden)), column_partial(widest)));
  start();
}

void CudaOps::start() {
  run_start(master_, weights_, parameters_, stream_);
  const StackPlaces places = places_of(s_);
  const auto ones = [&](std::size_t at) {
    run_set(master_ + at, weights_ + at, 1.0F, static_cast<std::size_t>(s_.hidden), stream_);
  };
  for (const LayerPlaces& l : places.layers) {
    ones(l.norm1);
    ones(l.norm2);
  }
  ones(places.norm);
  check(cudaMemsetAsync(first_, 0, parameters_ * sizeof(float), stream_));
  check(cudaMemsetAsync(second_, 0, parameters_ * sizeof(float), stream_));
  check(cudaStreamSynchronize(stream_));
}

const Buffer& CudaOps::array(std::size_t bytes) {
  return arrays_.emplace_back(Buffer::on_device(bytes));
}

void CudaOps::mark(StackClass which) {
  if (!marking_) { return; }
  marks_.push_back({which});
  marks_.back().event.record(stream_);
}

void CudaOps::start_marks() {
  marks_.clear();
  marking_ = true;
}

std::array<double, kStackClasses> CudaOps::take_times() {
  mark(StackClass::optimizer);
  marking_ = false;
  check(cudaStreamSynchronize(stream_));
  std::array<double, kStackClasses> times{};
  for (std::size_t i = 0; i + 1 < marks_.size(); ++i) {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, marks_[i].event.get(), marks_[i + 1].event.get()));
    times.at(static_cast<std::size_t>(marks_[i].which)) += 1e-3 * milliseconds;
  }
  return times;
}

double CudaOps::mean_loss() const {
  std::vector<float> losses(static_cast<std::size_t>(s_.tokens()));
  check(cudaStreamSynchronize(stream_));
  check(cudaMemcpy(losses.data(), losses_, losses.size() * sizeof(float), cudaMemcpyDeviceToHost));
  double sum = 0;
  for (const float loss : losses) { sum += loss; }
  return sum / static_cast<double>(losses.size());
}

const ProductPlan& CudaOps::plan(const StackProduct& p, bool biased) {
  const std::tuple key{p.layout, p.m, p.n, p.k, biased};
  const auto at = plans_.find(key);
  if (at != plans_.end()) { return at->second; }
  const Product product{"bf16", layout_name(p.layout), 1, p.m, p.n, p.k};
  return plans_.emplace(key, ProductPlan(blas_, product, biased)).first->second;
}

void CudaOps::product(const StackProduct& p, const Half* a, const Half* b, Half* c,
                      const Half* bias) {
  mark(StackClass::products);
  plan(p, bias != nullptr).run({a, b, c, bias}, stream_);
}

void CudaOps::norm(const Half* x, const Half* w, const Half* b, Half* y, float* kept, long rows,
                   long columns) {
  mark(StackClass::norms);
  run_norm(rows_of(rows, columns), {.x = x, .w = w, .b = b, .y = y, .kept = kept}, stream_);
}

void CudaOps::norm_back(const Half* x, const Half* w, const float* kept, const Half* dy, Half* dx,
                        Half* dw, Half* db, long rows, long columns) {
  mark(StackClass::norms);
  run_norm_back(rows_of(rows, columns),
                {.x = x,
                 .w = w,
                 .dy = dy,
                 .y = dx,
                 .kept = const_cast<float*>(kept),  // only read
                 .partial = partial_,
                 .dw = dw,
                 .db = db},
                stream_);
}

void CudaOps::bias_gelu(const Half* x, const Half* bias, Half* y, long rows, long columns) {
  mark(StackClass::elementwise);
  run_bias_gelu(rows_of(rows, columns), x, bias, y, stream_);
}

void CudaOps::gelu_back(const Half* x, const Half* bias, const Half* dy, Half* dx, long rows,
                        long columns) {
  mark(StackClass::elementwise);
  run_gelu_back(rows_of(rows, columns), {x, bias, dy, dx}, stream_);
}

void CudaOps::bias_add(const Half* x, const Half* bias, const Half* residual, Half* y, long rows,
                       long columns) {
  mark(StackClass::elementwise);
  run_bias_add(rows_of(rows, columns), {x, bias, residual, y}, stream_);
}

void CudaOps::add(const Half* x, const Half* y, Half* out, long count) {
  mark(StackClass::elementwise);
  run_bias_add(rows_of(count / s_.hidden, s_.hidden), {x, nullptr, y, out}, stream_);
}

void CudaOps::bias_back(const Half* dy, Half* db, long rows, long columns) {
  mark(StackClass::elementwise);
  run_column_sum(rows_of(rows, columns), dy, partial_, db, stream_);
}

void CudaOps::attention(std::size_t layer, const Half* qkv, Half* out) {
  mark(StackClass::attention);
  auto at = forward_bound_.find(layer);
  if (at == forward_bound_.end()) {
    auto* const q = const_cast<Half*>(qkv);  // the library's pointers are to values it may write
    const int bound = attention_.bind_forward(
        {.q = q, .k = q + s_.hidden, .v = q + 2 * s_.hidden, .out = out, .stats = stats_[layer]});
    at = forward_bound_.emplace(layer, bound).first;
  }
  attention_.forward(at->second, stream_);
}

void CudaOps::attention_back(std::size_t layer, const Half* qkv, const Half* out, const Half* dout,
                             Half* dqkv) {
  mark(StackClass::attention);
  auto at = backward_bound_.find(layer);
  const std::size_t part = static_cast<std::size_t>(s_.tokens()) * s_.hidden;
  if (at == backward_bound_.end()) {
    auto* const q = const_cast<Half*>(qkv);
    const int bound = attention_.bind_backward({.q = q,
                                                .k = q + s_.hidden,
                                                .v = q + 2 * s_.hidden,
                                                .out = const_cast<Half*>(out),
                                                .stats = stats_[layer],
                                                .dout = const_cast<Half*>(dout),
                                                .dq = dparts_,
                                                .dk = dparts_ + part,
                                                .dv = dparts_ + 2 * part});
    at = backward_bound_.emplace(layer, bound).first;
  }
  attention_.backward(at->second, stream_);
  mark(StackClass::elementwise);
  run_join(rows_of(s_.tokens(), s_.hidden), dparts_, dqkv, stream_);
}

EmbedShape CudaOps::embed_shape() const {
  return {static_cast<int>(s_.tokens()), static_cast<int>(s_.sequence), static_cast<int>(s_.vocab),
          static_cast<int>(s_.hidden)};
}

void CudaOps::embed(const Half* table, const Half* positions, Half* x) {
  mark(StackClass::elementwise);
  run_embed(embed_shape(), table, positions, x, stream_);
}

void CudaOps::embed_back(const Half* dx, Half* dtable, Half* dpositions) {
  mark(StackClass::elementwise);
  run_embed_back(embed_shape(), dx, dtable, dpositions, stream_);
}

void CudaOps::loss(const Half* logits) {
  const RowShape r = rows_of(s_.tokens(), s_.vocab);
  mark(StackClass::elementwise);
  run_widen(logits, logits_, static_cast<std::size_t>(s_.tokens() * s_.vocab), stream_);
  mark(StackClass::loss);
  run_cross_entropy(r, {.x = logits_, .kept = loss_kept_, .loss = losses_}, false, stream_);
}

void CudaOps::loss_back(Half* logits) {
  const RowShape r = rows_of(s_.tokens(), s_.vocab);
  mark(StackClass::loss);
  run_cross_entropy(r, {.x = logits_, .kept = loss_kept_, .dx = dlogits_}, true, stream_);
  mark(StackClass::elementwise);
  run_narrow(dlogits_, logits, static_cast<std::size_t>(s_.tokens() * s_.vocab), stream_);
}

void CudaOps::gradients_ready(std::size_t from, std::size_t to) {
  if (replicas_.count() == 1) { return; }
  ready_.record(stream_);
  check(cudaStreamWaitEvent(exchange_, ready_.get(), 0));
  replicas_.sum(replica_, gradients_ + from, to - from, exchange_);
}

void CudaOps::reduce_data() {
  if (replicas_.count() == 1) { return; }
  mark(StackClass::communication);
  summed_.record(exchange_);
  check(cudaStreamWaitEvent(stream_, summed_.get(), 0));
}

void CudaOps::adam() {
  mark(StackClass::optimizer);
  // As Megatron-LM does: gradients are copied to fp32 and the new weights back to bf16. The copy is
  // where the loss has its gradients, a part of all parameters at a time.
  const auto room = static_cast<std::size_t>(s_.tokens() * s_.vocab);
  for (std::size_t at = 0; at < parameters_; at += room) {
    const std::size_t count = std::min(room, parameters_ - at);
    run_widen(gradients_ + at, dlogits_, count, stream_);
    run_adam({dlogits_, master_ + at, first_ + at, second_ + at}, count, stream_);
    run_narrow(master_ + at, weights_ + at, count, stream_);
  }
}

}  // namespace tsim::calibrate
