// Where the parameters of one device's part of a stack lie.
#pragma once

#include <vector>

#include "sim/calibrate/stack/stack_shape.hpp"

namespace tsim::calibrate {

/// Places of a layer's parameters in the flat array of all. Those of experts come last; each
/// expert's matrices and biases follow one another.
struct LayerPlaces {
  std::size_t norm1 = 0, norm1_bias = 0, qkv = 0, qkv_bias = 0, out = 0, out_bias = 0;
  std::size_t norm2 = 0, norm2_bias = 0, router = 0;
  std::size_t fc1 = 0, fc1_bias = 0, fc2 = 0, fc2_bias = 0, end = 0;
};
/// The last stage has the embedding too, as its head.
struct StackPlaces {
  std::vector<LayerPlaces> layers;
  std::size_t embedding = 0, positions = 0, norm = 0, norm_bias = 0;
  std::size_t size = 0;
};

/// Parameters of a pipeline's stage; layers are split over the tensor ranks, embeddings are whole.
inline StackPlaces places_of(const StackShape& s, long stage = 0) {
  StackPlaces p;
  const auto next = [&p](long count) {
    const std::size_t at = p.size;
    p.size += static_cast<std::size_t>(count);
    return at;
  };
  const long h = s.hidden;
  const long local = h / s.tensor;
  const long ffn = s.ffn / s.tensor;
  const long parts = s.experts > 0 ? s.local_experts() : 1;
  const bool first = stage == 0;
  const bool last = stage == s.pipeline - 1;
  p.embedding = next(first || last ? s.vocab * h : 0);
  p.positions = next(first ? s.sequence * h : 0);
  for (long i = 0; i < s.stage_layers(); ++i) {
    LayerPlaces l;
    l.norm1 = next(h);
    l.norm1_bias = next(h);
    l.qkv = next(3 * local * h);
    l.qkv_bias = next(3 * local);
    l.out = next(h * local);
    l.out_bias = next(h);
    l.norm2 = next(h);
    l.norm2_bias = next(h);
    l.router = next(s.experts * h);
    l.fc1 = next(parts * ffn * h);
    l.fc1_bias = next(parts * ffn);
    l.fc2 = next(parts * h * ffn);
    l.fc2_bias = next(parts * h);
    l.end = p.size;
    p.layers.push_back(l);
  }
  p.norm = next(last ? h : 0);
  p.norm_bias = next(last ? h : 0);
  return p;
}

}  // namespace tsim::calibrate
