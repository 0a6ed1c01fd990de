// A Transformer stack that is really trained: forward, backward and Adam on kernels of any device.
#pragma once

#include <vector>

#include "sim/calibrate/stack/stack_shape.hpp"

namespace tsim::calibrate {

/// As matrices are stored, see products.hpp: C[m, n] = sum over k.
enum class Layout { nt, nn, tn };
struct StackProduct {
  Layout layout{};
  long m = 0, n = 0, k = 0;
};

/// Places of a layer's parameters in the flat array of all.
struct LayerPlaces {
  std::size_t norm1 = 0, norm1_bias = 0, qkv = 0, qkv_bias = 0, out = 0, out_bias = 0;
  std::size_t norm2 = 0, norm2_bias = 0, fc1 = 0, fc1_bias = 0, fc2 = 0, fc2_bias = 0;
};
struct StackPlaces {
  std::vector<LayerPlaces> layers;
  std::size_t embedding = 0, positions = 0, norm = 0, norm_bias = 0;
  std::size_t size = 0;
};

/// Where parameters lie; layers are split over the tensor ranks, embeddings are whole.
inline StackPlaces places_of(const StackShape& s) {
  StackPlaces p;
  const auto next = [&p](long count) {
    const std::size_t at = p.size;
    p.size += static_cast<std::size_t>(count);
    return at;
  };
  const long h = s.hidden;
  const long local = h / s.tensor;
  const long ffn = s.ffn / s.tensor;
  p.embedding = next(s.vocab * h);
  p.positions = next(s.sequence * h);
  for (long i = 0; i < s.layers; ++i) {
    LayerPlaces l;
    l.norm1 = next(h);
    l.norm1_bias = next(h);
    l.qkv = next(3 * local * h);
    l.qkv_bias = next(3 * local);
    l.out = next(h * local);
    l.out_bias = next(h);
    l.norm2 = next(h);
    l.norm2_bias = next(h);
    l.fc1 = next(ffn * h);
    l.fc1_bias = next(ffn);
    l.fc2 = next(h * ffn);
    l.fc2_bias = next(h);
    p.layers.push_back(l);
  }
  p.norm = next(h);
  p.norm_bias = next(h);
  return p;
}

/// `Ops` owns all memory and runs the kernels, in order:
///   Value* values(n), float* floats(n), Value* weights(), Value* gradients()
///   product(StackProduct, a, b, c, bias or null), norm(...), norm_back(...), bias_gelu(...),
///   gelu_back(...), bias_add(...), add(...), bias_back(...), attention(...), attention_back(...),
///   embed(...), embed_back(...), loss(logits), loss_back(dlogits), adam(),
///   reduce_tensor(x, n), gradients_ready(from, to), reduce_data(): the replicas' sum is there
template <typename Ops>
class Stack {
 public:
  using Value = typename Ops::Value;

  Stack(const StackShape& shape, Ops& ops)
      : s_(shape), places_(places_of(shape)), ops_(ops), w_(ops.weights()), g_(ops.gradients()) {
    const auto t = static_cast<std::size_t>(s_.tokens());
    const auto h = static_cast<std::size_t>(s_.hidden);
    const std::size_t local = h / static_cast<std::size_t>(s_.tensor);
    const auto ffn = static_cast<std::size_t>(s_.ffn / s_.tensor);
    for (long i = 0; i < s_.layers; ++i) {
      layers_.push_back({ops.values(t * h), ops.values(t * 3 * local), ops.values(t * local),
                         ops.values(t * h), ops.values(t * h), ops.values(t * ffn),
                         ops.values(t * ffn), ops.values(t * h), ops.floats(2 * t),
                         ops.floats(2 * t)});
    }
    input_ = ops.values(t * h);
    last_ = ops.values(t * h);
    last_kept_ = ops.floats(2 * t);
    logits_ = ops.values(t * static_cast<std::size_t>(s_.vocab));
    dx_ = ops.values(t * h);
    dmiddle_ = ops.values(t * h);
    scratch_ = ops.values(t * h);
    dwide_ = ops.values(t * ffn);
    dwide_before_ = ops.values(t * ffn);
    dqkv_ = ops.values(t * 3 * local);
    datt_ = ops.values(t * local);
  }

  void forward() {
    ops_.embed(w_ + places_.embedding, w_ + places_.positions, input_);
    const Value* x = input_;
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      forward_layer(i, x);
      x = layers_[i].out;
    }
    ops_.norm(x, w_ + places_.norm, w_ + places_.norm_bias, last_, last_kept_, s_.tokens(),
              s_.hidden);
    ops_.product({Layout::nt, s_.tokens(), s_.vocab, s_.hidden}, last_, w_ + places_.embedding,
                 logits_, nullptr);
    ops_.loss(logits_);
  }

  void backward() {
    const long t = s_.tokens();
    ops_.loss_back(logits_);
    ops_.product({Layout::nn, t, s_.hidden, s_.vocab}, logits_, w_ + places_.embedding, scratch_,
                 nullptr);
    ops_.product({Layout::tn, s_.vocab, s_.hidden, t}, logits_, last_, g_ + places_.embedding,
                 nullptr);
    const Value* const x = layers_.empty() ? input_ : layers_.back().out;
    ops_.norm_back(x, w_ + places_.norm, last_kept_, scratch_, dx_, g_ + places_.norm,
                   g_ + places_.norm_bias, t, s_.hidden);
    for (std::size_t i = layers_.size(); i-- > 0;) {
      const Value* const before = i == 0 ? input_ : layers_[i - 1].out;
      backward_mlp(i);
      backward_attention(i, before);
      const std::size_t from = places_.layers[i].norm1;
      const std::size_t to = i + 1 < layers_.size() ? places_.layers[i + 1].norm1 : places_.norm;
      ops_.gradients_ready(from, to);
    }
    ops_.gradients_ready(places_.norm, places_.size);
    ops_.embed_back(dx_, g_ + places_.embedding, g_ + places_.positions);
    ops_.gradients_ready(0, places_.layers.empty() ? places_.norm : places_.layers[0].norm1);
  }

  void step() {
    forward();
    backward();
    ops_.reduce_data();
    ops_.adam();
  }

 private:
  struct Layer {
    Value *norm1, *qkv, *attention, *middle, *norm2, *wide, *gelu, *out;
    float *kept1, *kept2;
  };

  void forward_layer(std::size_t i, const Value* x) {
    const Layer& l = layers_[i];
    const LayerPlaces& p = places_.layers[i];
    const long t = s_.tokens();
    const long h = s_.hidden;
    const long local = h / s_.tensor;
    const long ffn = s_.ffn / s_.tensor;
    ops_.norm(x, w_ + p.norm1, w_ + p.norm1_bias, l.norm1, l.kept1, t, h);
    ops_.product({Layout::nt, t, 3 * local, h}, l.norm1, w_ + p.qkv, l.qkv, w_ + p.qkv_bias);
    ops_.attention(i, l.qkv, l.attention);
    ops_.product({Layout::nt, t, h, local}, l.attention, w_ + p.out, scratch_, nullptr);
    ops_.reduce_tensor(scratch_, t * h);
    ops_.bias_add(scratch_, w_ + p.out_bias, x, l.middle, t, h);
    ops_.norm(l.middle, w_ + p.norm2, w_ + p.norm2_bias, l.norm2, l.kept2, t, h);
    ops_.product({Layout::nt, t, ffn, h}, l.norm2, w_ + p.fc1, l.wide, nullptr);
    ops_.bias_gelu(l.wide, w_ + p.fc1_bias, l.gelu, t, ffn);
    ops_.product({Layout::nt, t, h, ffn}, l.gelu, w_ + p.fc2, scratch_, nullptr);
    ops_.reduce_tensor(scratch_, t * h);
    ops_.bias_add(scratch_, w_ + p.fc2_bias, l.middle, l.out, t, h);
  }

  /// From the gradient of the layer's output in dx_ to that of its middle in dmiddle_.
  void backward_mlp(std::size_t i) {
    const Layer& l = layers_[i];
    const LayerPlaces& p = places_.layers[i];
    const long t = s_.tokens();
    const long h = s_.hidden;
    const long ffn = s_.ffn / s_.tensor;
    ops_.bias_back(dx_, g_ + p.fc2_bias, t, h);
    ops_.product({Layout::nn, t, ffn, h}, dx_, w_ + p.fc2, dwide_, nullptr);
    ops_.product({Layout::tn, h, ffn, t}, dx_, l.gelu, g_ + p.fc2, nullptr);
    ops_.gelu_back(l.wide, w_ + p.fc1_bias, dwide_, dwide_before_, t, ffn);
    ops_.bias_back(dwide_before_, g_ + p.fc1_bias, t, ffn);
    ops_.product({Layout::nn, t, h, ffn}, dwide_before_, w_ + p.fc1, scratch_, nullptr);
    ops_.reduce_tensor(scratch_, t * h);
    ops_.product({Layout::tn, ffn, h, t}, dwide_before_, l.norm2, g_ + p.fc1, nullptr);
    ops_.norm_back(l.middle, w_ + p.norm2, l.kept2, scratch_, dmiddle_, g_ + p.norm2,
                   g_ + p.norm2_bias, t, h);
    ops_.add(dmiddle_, dx_, dmiddle_, t * h);
  }

  /// From dmiddle_ to the gradient of the layer's input, in dx_.
  void backward_attention(std::size_t i, const Value* before) {
    const Layer& l = layers_[i];
    const LayerPlaces& p = places_.layers[i];
    const long t = s_.tokens();
    const long h = s_.hidden;
    const long local = h / s_.tensor;
    ops_.bias_back(dmiddle_, g_ + p.out_bias, t, h);
    ops_.product({Layout::nn, t, local, h}, dmiddle_, w_ + p.out, datt_, nullptr);
    ops_.product({Layout::tn, h, local, t}, dmiddle_, l.attention, g_ + p.out, nullptr);
    ops_.attention_back(i, l.qkv, l.attention, datt_, dqkv_);
    ops_.bias_back(dqkv_, g_ + p.qkv_bias, t, 3 * local);
    ops_.product({Layout::nn, t, h, 3 * local}, dqkv_, w_ + p.qkv, scratch_, nullptr);
    ops_.reduce_tensor(scratch_, t * h);
    ops_.product({Layout::tn, 3 * local, h, t}, dqkv_, l.norm1, g_ + p.qkv, nullptr);
    ops_.norm_back(before, w_ + p.norm1, l.kept1, scratch_, dx_, g_ + p.norm1, g_ + p.norm1_bias, t,
                   h);
    ops_.add(dx_, dmiddle_, dx_, t * h);
  }

  StackShape s_;
  StackPlaces places_;
  Ops& ops_;
  Value *w_, *g_;
  std::vector<Layer> layers_;
  Value *input_ = nullptr, *last_ = nullptr, *logits_ = nullptr;
  Value *dx_ = nullptr, *dmiddle_ = nullptr, *scratch_ = nullptr;
  Value *dwide_ = nullptr, *dwide_before_ = nullptr, *dqkv_ = nullptr, *datt_ = nullptr;
  float* last_kept_ = nullptr;
};

}  // namespace tsim::calibrate
