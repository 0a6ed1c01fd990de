#include "sim/input/read_precision.hpp"

#include <array>

namespace tsim::sim {
namespace {

using models::DType;

constexpr std::array kCompute{DType::fp32, DType::tf32,  DType::fp16, DType::bf16,
                              DType::fp8,  DType::int16, DType::int8};
constexpr std::array kKept{DType::fp32, DType::fp16,  DType::bf16,
                           DType::fp8,  DType::int16, DType::int8};
constexpr int kBlock = 128;  // side of a weight's block, arXiv:2412.19437, sec. 3.3.2

/// Of what only fp8 has: copies of weights that products read, and how many elements share a scale.
void read_fp8(Reader& in, strategies::Precision& p) {
  const bool fp8 = p.compute == DType::fp8;
  const Place copies = in.take("fp8_copies");
  const Place scales = in.take("fp8_scales");
  for (const Place* place : {&copies, &scales}) {
    if (!fp8 && place->present()) {
      place->fail(place->found(), "nothing unless compute is \"fp8\"");
    }
  }
  if (!fp8) { return; }
  // Transformer Engine keeps both layouts: products of NVIDIA Hopper read rows only.
  const int usual = kept_weights(p) == DType::fp8 ? 1 : 2;
  p.fp8_copies = static_cast<int>(read_count(copies, {.least = 0, .most = 2}, usual));
  static constexpr std::array<std::string_view, 2> kScales{"tensor", "block"};
  p.scale_block = read_choice(scales, kScales, 0) == 1 ? kBlock : 0;
}

/// Formats of what operators keep for their backward, by name, part or kind.
void read_kept(const Place& place, strategies::Precision& p) {
  if (!place.present()) { return; }
  if (!place.value->is_object()) {
    place.fail(place.found(), "an object: an operator, its part or its kind, and a format");
    return;
  }
  Reader in(place);
  std::vector<std::string> names;
  names.reserve(place.value->size());
  for (const auto& [name, format] : place.value->items()) { names.push_back(name); }
  for (const std::string& name : names) {
    p.kept.push_back({.operators = name, .format = read_choice<DType>(in.take(name), kKept)});
  }
  in.finish();
}

}  // namespace

strategies::Precision read_precision(const Place& place, strategies::Optimizer optimizer) {
  Reader in(place);
  strategies::Precision p;
  p.compute = read_choice<DType>(in.take("compute"), kCompute, DType::fp16);
  const Place weights = in.take("weights");
  if (weights.present()) { p.weights = read_choice<DType>(weights, kKept); }
  // tf32 is a way to multiply; what is kept is fp32. Gradients of fp8 products are wider.
  const DType stored = p.compute == DType::tf32 ? DType::fp32 : p.compute;
  const DType kept = stored == DType::fp8 ? DType::bf16 : stored;
  p.gradient = read_choice<DType>(in.take("gradient"), kKept, kept);
  const Place copy = in.take("gradient_copy");
  if (copy.present()) { p.gradient_copy = read_choice<DType>(copy, kKept); }
  p.reduction = read_choice<DType>(in.take("reduction"), kKept, p.gradient);
  p.master_weights =
      read_flag(in.take("master_weights"), size_of(kept_weights(p)) < size_of(DType::fp32));
  p.master = read_choice<DType>(in.take("master"), kKept, DType::fp32);
  const Place moments = in.take("moments");
  const bool one_byte = optimizer == strategies::Optimizer::adam_8bit;
  p.moments = read_choice<DType>(moments, kKept, one_byte ? DType::int8 : DType::fp32);
  if (one_byte && size_of(p.moments) != 1) {
    moments.fail(moments.found(), "a format of one byte with optimizer \"adam_8bit\"");
  }
  read_fp8(in, p);
  read_kept(in.take("kept"), p);
  in.finish();
  return p;
}

}  // namespace tsim::sim
