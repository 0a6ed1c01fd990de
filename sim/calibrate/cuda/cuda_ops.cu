#include <algorithm>

#include "sim/calibrate/cuda/cuda_ops.hpp"

namespace tsim::calibrate {
namespace {

RowShape rows_of(const StackRows& r) {
  return {static_cast<int>(r.rows), static_cast<int>(r.columns)};
}

AttentionShape attention_shape(const StackShape& s) {
  return {.dtype = "bf16",
          .samples = s.batch,
          .heads = s.heads / s.tensor,
          .queries = s.sequence,
          .keys = s.sequence,
          .width = s.width(),
          .causal = s.causal,
          .token_stride = 3 * s.hidden / s.tensor,
          .out_token_stride = s.hidden / s.tensor};
}

constexpr std::size_t kWidened = std::size_t{1} << 25;  // gradients in fp32 at a time

const char* layout_name(Layout layout) {
  return layout == Layout::nt ? "nt" : layout == Layout::nn ? "nn" : "tn";
}

}  // namespace

CudaOps::CudaOps(const StackShape& shape, const Exchange& exchange, long stage)
    : s_(shape), exchange_(exchange), attention_(attention_shape(shape), true, true) {
  const StackPlaces places = places_of(s_, stage);
  const bool last = stage == s_.pipeline - 1;
  parameters_ = places.size;
  weights_ = values(parameters_);
  gradients_ = values(parameters_);
  if (s_.micro_batches > 1) { more_gradients_ = values(parameters_); }
  master_ = floats(parameters_);
  first_ = floats(parameters_);
  second_ = floats(parameters_);
  const auto tokens = static_cast<std::size_t>(s_.tokens());
  const std::size_t logits = tokens * static_cast<std::size_t>(s_.vocab);
  const long kept = s_.stage_layers() * std::min(s_.micro_batches, s_.pipeline - stage);
  for (long i = 0; i < kept; ++i) {
    stats_.push_back(floats(tokens * static_cast<std::size_t>(heads())));
  }
  dparts_ = values(3 * tokens * static_cast<std::size_t>(local()));
  if (last) {
    logits_ = floats(logits);
    dlogits_ = floats(logits);
    losses_ = floats(tokens);
    loss_kept_ = floats(2 * tokens);
  }
  widened_room_ = last ? logits : std::min(parameters_, kWidened);
  widened_ = last ? dlogits_ : floats(widened_room_);
  const auto widest = static_cast<int>(std::max(s_.ffn, 3 * s_.hidden));
  partial_ = floats(std::max(norm_partial(static_cast<int>(s_.hidden)), column_partial(widest)));
  const std::size_t whole = tokens * static_cast<std::size_t>(s_.hidden);
  if (!last) { received_.arrays = {values(whole), values(whole)}; }
  if (stage > 0) { sent_.arrays = {values(whole), values(whole)}; }
  if (s_.experts > 0) { make_experts(); }
  start(places);
}

void CudaOps::make_experts() {
  const auto copies = static_cast<std::size_t>(s_.tokens() * s_.top_k);
  std::vector<int> places;
  std::vector<int> chosen;
  for (long token = 0; token < s_.tokens(); ++token) {
    for (long choice = 0; choice < s_.top_k; ++choice) {
      places.push_back(static_cast<int>(place_of(token, choice, s_)));
      chosen.push_back(static_cast<int>(expert_of(token, choice, s_.experts)));
    }
  }
  places_ = array(copies * sizeof(int)).as<int>();
  chosen_ = array(copies * sizeof(int)).as<int>();
  check(cudaMemcpy(places_, places.data(), copies * sizeof(int), cudaMemcpyHostToDevice));
  check(cudaMemcpy(chosen_, chosen.data(), copies * sizeof(int), cudaMemcpyHostToDevice));
  if (s_.expert_ranks > 1) { exchanged_ = values(copies * static_cast<std::size_t>(s_.hidden)); }
}

void CudaOps::start(const StackPlaces& places) {
  run_start(master_, weights_, parameters_, stream_);
  const auto ones = [&](std::size_t at) {
    run_set(master_ + at, weights_ + at, 1.0F, static_cast<std::size_t>(s_.hidden), stream_);
  };
  for (const LayerPlaces& l : places.layers) {
    ones(l.norm1);
    ones(l.norm2);
  }
  if (places.norm_bias > places.norm) { ones(places.norm); }
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
  if (losses_ == nullptr) { return 0; }
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

void CudaOps::norm(const StackRows& r, const Half* x, const Affine<Half>& affine, Half* y,
                   float* kept) {
  mark(StackClass::norms);
  run_norm(rows_of(r), {.x = x, .w = affine.weight, .b = affine.bias, .y = y, .kept = kept},
           stream_);
}

void CudaOps::norm_back(const StackRows& r, const NormUpstream<Half>& up,
                        const NormGradient<Half>& to) {
  mark(StackClass::norms);
  run_norm_back(rows_of(r),
                {.x = up.x,
                 .w = up.weight,
                 .dy = up.dy,
                 .y = to.x,
                 .kept = const_cast<float*>(up.kept),  // only read
                 .partial = partial_,
                 .dw = to.weight,
                 .db = to.bias},
                stream_);
}

void CudaOps::bias_gelu(const StackRows& r, const Half* x, const Half* bias, Half* y) {
  mark(StackClass::elementwise);
  run_bias_gelu(rows_of(r), x, bias, y, stream_);
}

void CudaOps::gelu_back(const StackRows& r, const Half* x, const Half* bias, const Half* dy,
                        Half* dx) {
  mark(StackClass::elementwise);
  run_gelu_back(rows_of(r), {x, bias, dy, dx}, stream_);
}

void CudaOps::bias_add(const StackRows& r, const Half* x, const Half* bias, const Half* residual,
                       Half* y) {
  mark(StackClass::elementwise);
  run_bias_add(rows_of(r), {x, bias, residual, y}, stream_);
}

void CudaOps::bias_back(const StackRows& r, const Half* dy, Half* db) {
  mark(StackClass::elementwise);
  run_column_sum(rows_of(r), dy, partial_, db, stream_);
}

void CudaOps::clear(Half* x, long count) {
  mark(StackClass::elementwise);
  check(cudaMemsetAsync(x, 0, static_cast<std::size_t>(count) * sizeof(Half), stream_));
}

void CudaOps::accumulate() {
  mark(StackClass::elementwise);
  run_bias_add(rows_of({static_cast<long>(parameters_ / 8), 8}),
               {more_gradients_, nullptr, gradients_, gradients_}, stream_);
}

void CudaOps::attention(std::size_t layer, const Half* qkv, Half* out) {
  mark(StackClass::attention);
  auto at = forward_bound_.find(layer);
  if (at == forward_bound_.end()) {
    auto* const q = const_cast<Half*>(qkv);  // the library's pointers are to values it may write
    const int bound = attention_.bind_forward(
        {.q = q, .k = q + local(), .v = q + 2 * local(), .out = out, .stats = stats_[layer]});
    at = forward_bound_.emplace(layer, bound).first;
  }
  attention_.forward(at->second, stream_);
}

void CudaOps::attention_back(std::size_t layer, const Half* qkv, const Half* out, const Half* dout,
                             Half* dqkv) {
  mark(StackClass::attention);
  auto at = backward_bound_.find(layer);
  const std::size_t part = static_cast<std::size_t>(s_.tokens()) * local();
  if (at == backward_bound_.end()) {
    auto* const q = const_cast<Half*>(qkv);
    const int bound = attention_.bind_backward({.q = q,
                                                .k = q + local(),
                                                .v = q + 2 * local(),
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
  run_join(rows_of({s_.tokens(), local()}), dparts_, dqkv, stream_);
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
  const RowShape r = rows_of({s_.tokens(), s_.vocab});
  mark(StackClass::elementwise);
  run_widen(logits, logits_, static_cast<std::size_t>(s_.tokens() * s_.vocab), stream_);
  mark(StackClass::loss);
  run_cross_entropy(r, {.x = logits_, .kept = loss_kept_, .loss = losses_}, false, stream_);
}

void CudaOps::loss_back(Half* logits) {
  const RowShape r = rows_of({s_.tokens(), s_.vocab});
  mark(StackClass::loss);
  run_cross_entropy(r, {.x = logits_, .kept = loss_kept_, .dx = dlogits_}, true, stream_);
  mark(StackClass::elementwise);
  run_narrow(dlogits_, logits, static_cast<std::size_t>(s_.tokens() * s_.vocab), stream_);
}

void CudaOps::adam() {
  mark(StackClass::optimizer);
  // As Megatron-LM does: gradients are copied to fp32 and the new weights back to bf16. The copy is
  // where the loss has its gradients, a part of all parameters at a time.
  for (std::size_t at = 0; at < parameters_; at += widened_room_) {
    const std::size_t count = std::min(widened_room_, parameters_ - at);
    run_widen(gradients_ + at, widened_, count, stream_);
    run_adam({widened_, master_ + at, first_ + at, second_ + at}, count, stream_);
    run_narrow(master_ + at, weights_ + at, count, stream_);
  }
}

}  // namespace tsim::calibrate
