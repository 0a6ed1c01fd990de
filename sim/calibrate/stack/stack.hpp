// A Transformer stack that is really trained: forward, backward and Adam on kernels of any device.
#pragma once

#include <algorithm>
#include <vector>

#include "sim/calibrate/stack/stack_ops.hpp"
#include "sim/calibrate/stack/stack_places.hpp"

namespace tsim::calibrate {

/// One device's part: a stage's layers, its share of each layer over the tensor ranks. `Ops` owns
/// all memory and runs the kernels, in order; see stack_ops.hpp.
template <typename Ops>
class Stack {
 public:
  using Value = typename Ops::Value;

  Stack(const StackShape& shape, Ops& ops, long stage = 0)
      : s_(shape),
        stage_(stage),
        places_(places_of(shape, stage)),
        ops_(ops),
        w_(ops.weights()),
        g_(ops.gradients(true)) {
    const long ahead = s_.pipeline - stage_;  // micro-batches whose backward is still to come
    slots_.resize(static_cast<std::size_t>(std::min(s_.micro_batches, ahead)));
    // The next micro-batch's input arrives while the backward of an earlier one still reads its
    // own.
    inputs_.resize(slots_.size() + (first() ? 0 : 1));
    for (Value*& input : inputs_) {
      input = ops_.values(static_cast<std::size_t>(s_.tokens() * s_.hidden));
    }
    for (Slot& slot : slots_) { make_slot(slot); }
    make_shared();
  }

  /// One micro-batch, whose activations stay in `slot`.
  void forward(std::size_t slot = 0) {
    Slot& kept = slots_[slot];
    if (first()) {
      ops_.embed(w_ + places_.embedding, w_ + places_.positions, kept.input);
    } else {
      ops_.await_forward();
    }
    const Value* x = kept.input;
    for (std::size_t i = 0; i < kept.layers.size(); ++i) {
      forward_attention(i, kept, x);
      s_.experts > 0 ? forward_experts(i, kept) : forward_mlp(i, kept);
      x = kept.layers[i].out;
    }
    if (!last()) {
      ops_.send_forward(x, s_.tokens() * s_.hidden);
      return;
    }
    ops_.norm(token_rows(), x, {w_ + places_.norm, w_ + places_.norm_bias}, last_, last_kept_);
    ops_.product({Layout::nt, s_.tokens(), s_.vocab, s_.hidden}, last_, w_ + places_.embedding,
                 logits_, nullptr);
    ops_.loss(logits_);
  }

  /// Writes the gradients of the micro-batch in `slot`. `whole`: these are all there will be.
  void backward(std::size_t slot = 0, bool whole = true) {
    Slot& kept = slots_[slot];
    const Value* up = last() ? backward_head(kept) : ops_.await_backward();
    if (last() && whole) { ops_.gradients_ready(places_.norm, places_.size); }
    for (std::size_t i = kept.layers.size(); i-- > 0;) {
      up = backward_layer(i, kept, up);
      if (whole) { layer_ready(places_.layers[i]); }
    }
    if (!first()) {
      ops_.send_backward(up, s_.tokens() * s_.hidden);
      return;
    }
    if (!last()) { ops_.clear(g_ + places_.embedding, s_.vocab * s_.hidden); }
    ops_.embed_back(up, g_ + places_.embedding, g_ + places_.positions);
    if (whole) { ops_.gradients_ready(0, places_.layers[0].norm1); }
  }

  /// Forwards and backwards of all micro-batches in the order of 1F1B [arXiv:2104.04473, section
  /// 2.2], then Adam. What the next of them needs is asked for before one starts.
  void step() {
    const std::vector<Turn> turns = turns_of_step();
    receive(turns.front());
    for (std::size_t i = 0; i < turns.size(); ++i) {
      if (i + 1 < turns.size()) { receive(turns[i + 1]); }
      const std::size_t slot = turns[i].micro_batch % slots_.size();
      if (!turns[i].back) {
        slots_[slot].input = input_of(turns[i].micro_batch);
        forward(slot);
        continue;
      }
      g_ = ops_.gradients(turns[i].micro_batch == 0);
      backward(slot, s_.micro_batches == 1);
      if (turns[i].micro_batch > 0) { ops_.accumulate(); }
    }
    if (s_.pipeline > 1 && (first() || last())) {
      ops_.sum_embedding(places_.embedding, s_.vocab * s_.hidden);
    }
    ops_.reduce_data();
    ops_.adam();
  }

 private:
  struct Turn {
    bool back = false;
    std::size_t micro_batch = 0;
  };
  struct Layer {
    Value *norm1, *qkv, *attention, *middle, *norm2, *wide, *gelu, *out;
    float *kept1, *kept2;
    Value *scores, *rows, *results;  // of experts
    float* shares;
  };
  struct Slot {
    Value* input = nullptr;
    std::vector<Layer> layers;
    std::size_t index = 0;
  };

  bool first() const { return stage_ == 0; }
  bool last() const { return stage_ == s_.pipeline - 1; }
  bool spread() const { return s_.expert_ranks > 1; }
  StackRows token_rows() const { return {s_.tokens(), s_.hidden}; }
  /// Rows that tokens become on their way to experts; none without experts.
  std::size_t copies() const {
    return s_.experts > 0 ? static_cast<std::size_t>(s_.tokens() * s_.top_k) : 0;
  }
  /// Of all layers of all slots.
  std::size_t layer_index(std::size_t layer, const Slot& slot) const {
    return slot.index * slot.layers.size() + layer;
  }

  Value* input_of(std::size_t micro_batch) const { return inputs_[micro_batch % inputs_.size()]; }

  void make_slot(Slot& slot) {
    const auto t = static_cast<std::size_t>(s_.tokens());
    const auto h = static_cast<std::size_t>(s_.hidden);
    const std::size_t local = h / static_cast<std::size_t>(s_.tensor);
    const auto ffn = static_cast<std::size_t>(s_.ffn / s_.tensor);
    const std::size_t routed = copies();
    const std::size_t wide = routed > 0 ? routed : t;
    slot.index = static_cast<std::size_t>(&slot - slots_.data());
    slot.input = inputs_[slot.index];
    for (long i = 0; i < s_.stage_layers(); ++i) {
      slot.layers.push_back({ops_.values(t * h), ops_.values(t * 3 * local), ops_.values(t * local),
                             ops_.values(t * h), ops_.values(t * h), ops_.values(wide * ffn),
                             ops_.values(wide * ffn), ops_.values(t * h), ops_.floats(2 * t),
                             ops_.floats(2 * t), nullptr, nullptr, nullptr, nullptr});
      if (routed == 0) { continue; }
      Layer& l = slot.layers.back();
      l.scores = ops_.values(t * static_cast<std::size_t>(s_.experts));
      l.rows = ops_.values(routed * h);
      l.results = ops_.values(routed * h);
      l.shares = ops_.floats(routed);
    }
  }

  /// What one micro-batch at a time needs.
  void make_shared() {
    const auto t = static_cast<std::size_t>(s_.tokens());
    const auto h = static_cast<std::size_t>(s_.hidden);
    const std::size_t local = h / static_cast<std::size_t>(s_.tensor);
    const auto ffn = static_cast<std::size_t>(s_.ffn / s_.tensor);
    const std::size_t routed = copies();
    const std::size_t wide = routed > 0 ? routed : t;
    if (last()) {
      last_ = ops_.values(t * h);
      last_kept_ = ops_.floats(2 * t);
      logits_ = ops_.values(t * static_cast<std::size_t>(s_.vocab));
    }
    dx_ = ops_.values(t * h);
    dmiddle_ = ops_.values(t * h);
    scratch_ = ops_.values(t * h);
    dwide_ = ops_.values(wide * ffn);
    dwide_before_ = ops_.values(wide * ffn);
    dqkv_ = ops_.values(t * 3 * local);
    datt_ = ops_.values(t * local);
    if (routed == 0) { return; }
    sent_ = ops_.values(routed * h);
    got_ = ops_.values(routed * h);
    dscores_ = ops_.values(t * static_cast<std::size_t>(s_.experts));
    dshares_ = ops_.floats(routed);
  }

  std::vector<Turn> turns_of_step() const {
    const auto all = static_cast<std::size_t>(s_.micro_batches);
    const std::size_t ahead = std::min(all, static_cast<std::size_t>(s_.pipeline - stage_ - 1));
    std::vector<Turn> turns;
    turns.reserve(2 * all);
    for (std::size_t i = 0; i < ahead; ++i) { turns.push_back({false, i}); }
    for (std::size_t i = ahead; i < all; ++i) {
      turns.push_back({false, i});
      turns.push_back({true, i - ahead});
    }
    for (std::size_t i = all - ahead; i < all; ++i) { turns.push_back({true, i}); }
    return turns;
  }

  void receive(const Turn& turn) {
    const long values = s_.tokens() * s_.hidden;
    if (turn.back && !last()) { ops_.receive_backward(values); }
    if (!turn.back && !first()) { ops_.receive_forward(input_of(turn.micro_batch), values); }
  }

  void layer_ready(const LayerPlaces& p) {
    ops_.gradients_ready(p.norm1, s_.experts > 0 ? p.fc1 : p.end);
    if (s_.experts > 0) { ops_.experts_ready(p.fc1, p.end); }
  }

  void forward_attention(std::size_t i, const Slot& slot, const Value* x) {
    const Layer& l = slot.layers[i];
    const LayerPlaces& p = places_.layers[i];
    const long t = s_.tokens();
    const long h = s_.hidden;
    const long local = h / s_.tensor;
    ops_.norm(token_rows(), x, {w_ + p.norm1, w_ + p.norm1_bias}, l.norm1, l.kept1);
    ops_.product({Layout::nt, t, 3 * local, h}, l.norm1, w_ + p.qkv, l.qkv, w_ + p.qkv_bias);
    ops_.attention(layer_index(i, slot), l.qkv, l.attention);
    ops_.product({Layout::nt, t, h, local}, l.attention, w_ + p.out, scratch_, nullptr);
    ops_.reduce_tensor(scratch_, t * h);
    ops_.bias_add(token_rows(), scratch_, w_ + p.out_bias, x, l.middle);
    ops_.norm(token_rows(), l.middle, {w_ + p.norm2, w_ + p.norm2_bias}, l.norm2, l.kept2);
  }

  void forward_mlp(std::size_t i, const Slot& slot) {
    const Layer& l = slot.layers[i];
    const LayerPlaces& p = places_.layers[i];
    const long t = s_.tokens();
    const long h = s_.hidden;
    const long ffn = s_.ffn / s_.tensor;
    ops_.product({Layout::nt, t, ffn, h}, l.norm2, w_ + p.fc1, l.wide, nullptr);
    ops_.bias_gelu({t, ffn}, l.wide, w_ + p.fc1_bias, l.gelu);
    ops_.product({Layout::nt, t, h, ffn}, l.gelu, w_ + p.fc2, scratch_, nullptr);
    ops_.reduce_tensor(scratch_, t * h);
    ops_.bias_add(token_rows(), scratch_, w_ + p.fc2_bias, l.middle, l.out);
  }

  void forward_experts(std::size_t i, const Slot& slot) {
    const Layer& l = slot.layers[i];
    const LayerPlaces& p = places_.layers[i];
    const long h = s_.hidden;
    const long rows = s_.expert_rows();
    ops_.product({Layout::nt, s_.tokens(), s_.experts, h}, l.norm2, w_ + p.router, l.scores,
                 nullptr);
    ops_.route(l.scores, l.shares);
    ops_.permute(l.norm2, spread() ? sent_ : l.rows);
    if (spread()) { ops_.dispatch(sent_, l.rows); }
    Value* const done = spread() ? got_ : l.results;
    for (long e = 0; e < s_.local_experts(); ++e) {
      Value* const wide = l.wide + e * rows * s_.ffn;
      Value* const gelu = l.gelu + e * rows * s_.ffn;
      ops_.product({Layout::nt, rows, s_.ffn, h}, l.rows + e * rows * h,
                   w_ + p.fc1 + e * s_.ffn * h, wide, nullptr);
      ops_.bias_gelu({rows, s_.ffn}, wide, w_ + p.fc1_bias + e * s_.ffn, gelu);
      ops_.product({Layout::nt, rows, h, s_.ffn}, gelu, w_ + p.fc2 + e * s_.ffn * h,
                   done + e * rows * h, w_ + p.fc2_bias + e * h);
    }
    if (spread()) { ops_.collect(got_, l.results); }
    ops_.combine(l.results, l.shares, scratch_);
    ops_.bias_add(token_rows(), scratch_, nullptr, l.middle, l.out);
  }

  const Value* backward_head(const Slot& slot) {
    const long t = s_.tokens();
    ops_.loss_back(logits_);
    ops_.product({Layout::nn, t, s_.hidden, s_.vocab}, logits_, w_ + places_.embedding, scratch_,
                 nullptr);
    ops_.product({Layout::tn, s_.vocab, s_.hidden, t}, logits_, last_, g_ + places_.embedding,
                 nullptr);
    const Value* const x = slot.layers.back().out;
    ops_.norm_back(token_rows(), {x, w_ + places_.norm, last_kept_, scratch_},
                   {dx_, g_ + places_.norm, g_ + places_.norm_bias});
    return dx_;
  }

  /// The gradient of the layer's input.
  const Value* backward_layer(std::size_t i, const Slot& slot, const Value* up) {
    const Value* const before = i == 0 ? slot.input : slot.layers[i - 1].out;
    Value* const down = i == 0 && !first() ? ops_.room_backward() : dx_;
    s_.experts > 0 ? backward_experts(i, slot, up) : backward_mlp(i, slot, up);
    backward_attention(i, slot, before, down);
    return down;
  }

  /// From the gradient `up` of the layer's output to that of its middle in dmiddle_.
  void backward_mlp(std::size_t i, const Slot& slot, const Value* up) {
    const Layer& l = slot.layers[i];
    const LayerPlaces& p = places_.layers[i];
    const long t = s_.tokens();
    const long h = s_.hidden;
    const long ffn = s_.ffn / s_.tensor;
    ops_.bias_back(token_rows(), up, g_ + p.fc2_bias);
    ops_.product({Layout::nn, t, ffn, h}, up, w_ + p.fc2, dwide_, nullptr);
    ops_.product({Layout::tn, h, ffn, t}, up, l.gelu, g_ + p.fc2, nullptr);
    ops_.gelu_back({t, ffn}, l.wide, w_ + p.fc1_bias, dwide_, dwide_before_);
    ops_.bias_back({t, ffn}, dwide_before_, g_ + p.fc1_bias);
    ops_.product({Layout::nn, t, h, ffn}, dwide_before_, w_ + p.fc1, scratch_, nullptr);
    ops_.reduce_tensor(scratch_, t * h);
    ops_.product({Layout::tn, ffn, h, t}, dwide_before_, l.norm2, g_ + p.fc1, nullptr);
    ops_.norm_back(token_rows(), {l.middle, w_ + p.norm2, l.kept2, scratch_},
                   {dmiddle_, g_ + p.norm2, g_ + p.norm2_bias});
    ops_.bias_add(token_rows(), dmiddle_, nullptr, up, dmiddle_);
  }

  /// The same where experts stand in place of the two projections.
  void backward_experts(std::size_t i, const Slot& slot, const Value* up) {
    const Layer& l = slot.layers[i];
    const LayerPlaces& p = places_.layers[i];
    const long t = s_.tokens();
    const long h = s_.hidden;
    Value* const at_home = spread() ? sent_ : got_;
    ops_.combine_back(up, {l.results, l.shares}, at_home, dshares_);
    ops_.route_back(l.scores, dshares_, dscores_);
    if (spread()) { ops_.dispatch(sent_, got_); }
    for (long e = 0; e < s_.local_experts(); ++e) { backward_expert(e, l, p); }
    if (spread()) { ops_.collect(got_, sent_); }
    ops_.permute_back(at_home, scratch_);
    ops_.product({Layout::nn, t, h, s_.experts}, dscores_, w_ + p.router, dmiddle_, nullptr);
    ops_.product({Layout::tn, s_.experts, h, t}, dscores_, l.norm2, g_ + p.router, nullptr);
    ops_.bias_add(token_rows(), scratch_, nullptr, dmiddle_, scratch_);
    ops_.norm_back(token_rows(), {l.middle, w_ + p.norm2, l.kept2, scratch_},
                   {dmiddle_, g_ + p.norm2, g_ + p.norm2_bias});
    ops_.bias_add(token_rows(), dmiddle_, nullptr, up, dmiddle_);
  }

  /// Of one expert's rows in got_, which become the gradients of what it read.
  void backward_expert(long e, const Layer& l, const LayerPlaces& p) {
    const long h = s_.hidden;
    const long rows = s_.expert_rows();
    Value* const up = got_ + e * rows * h;
    const Value* const w1 = w_ + p.fc1 + e * s_.ffn * h;
    const Value* const w2 = w_ + p.fc2 + e * s_.ffn * h;
    const Value* const bias = w_ + p.fc1_bias + e * s_.ffn;
    Value* const dwide = dwide_ + e * rows * s_.ffn;
    Value* const dbefore = dwide_before_ + e * rows * s_.ffn;
    ops_.bias_back({rows, h}, up, g_ + p.fc2_bias + e * h);
    ops_.product({Layout::nn, rows, s_.ffn, h}, up, w2, dwide, nullptr);
    ops_.product({Layout::tn, h, s_.ffn, rows}, up, l.gelu + e * rows * s_.ffn,
                 g_ + p.fc2 + e * s_.ffn * h, nullptr);
    ops_.gelu_back({rows, s_.ffn}, l.wide + e * rows * s_.ffn, bias, dwide, dbefore);
    ops_.bias_back({rows, s_.ffn}, dbefore, g_ + p.fc1_bias + e * s_.ffn);
    ops_.product({Layout::nn, rows, h, s_.ffn}, dbefore, w1, up, nullptr);
    ops_.product({Layout::tn, s_.ffn, h, rows}, dbefore, l.rows + e * rows * h,
                 g_ + p.fc1 + e * s_.ffn * h, nullptr);
  }

  /// From dmiddle_ to the gradient of the layer's input, in `down`.
  void backward_attention(std::size_t i, const Slot& slot, const Value* before, Value* down) {
    const Layer& l = slot.layers[i];
    const LayerPlaces& p = places_.layers[i];
    const long t = s_.tokens();
    const long h = s_.hidden;
    const long local = h / s_.tensor;
    ops_.bias_back(token_rows(), dmiddle_, g_ + p.out_bias);
    ops_.product({Layout::nn, t, local, h}, dmiddle_, w_ + p.out, datt_, nullptr);
    ops_.product({Layout::tn, h, local, t}, dmiddle_, l.attention, g_ + p.out, nullptr);
    ops_.attention_back(layer_index(i, slot), l.qkv, l.attention, datt_, dqkv_);
    ops_.bias_back({t, 3 * local}, dqkv_, g_ + p.qkv_bias);
    ops_.product({Layout::nn, t, h, 3 * local}, dqkv_, w_ + p.qkv, scratch_, nullptr);
    ops_.reduce_tensor(scratch_, t * h);
    ops_.product({Layout::tn, 3 * local, h, t}, dqkv_, l.norm1, g_ + p.qkv, nullptr);
    ops_.norm_back(token_rows(), {before, w_ + p.norm1, l.kept1, scratch_},
                   {down, g_ + p.norm1, g_ + p.norm1_bias});
    ops_.bias_add(token_rows(), down, nullptr, dmiddle_, down);
  }

  StackShape s_;
  long stage_ = 0;
  StackPlaces places_;
  Ops& ops_;
  Value *w_, *g_;
  std::vector<Slot> slots_;
  std::vector<Value*> inputs_;  // of micro-batches in turn
  Value *last_ = nullptr, *logits_ = nullptr;
  Value *dx_ = nullptr, *dmiddle_ = nullptr, *scratch_ = nullptr;
  Value *dwide_ = nullptr, *dwide_before_ = nullptr, *dqkv_ = nullptr, *datt_ = nullptr;
  Value *sent_ = nullptr, *got_ = nullptr, *dscores_ = nullptr;
  float *last_kept_ = nullptr, *dshares_ = nullptr;
};

}  // namespace tsim::calibrate
