#include "models/block_builder.hpp"

#include <utility>

#include "models/adapters.hpp"
#include "models/stored_format.hpp"

namespace tsim::models {
namespace {

std::size_t at(TensorId id) { return static_cast<std::size_t>(id); }

/// What a product in fp8 reads: a quantised copy, which is kept for the backward in place of the
/// activation itself. The head's product stays in the wider format.
///   [arXiv:2209.05433; arXiv:2412.19437, sec. 3.3.1]
Operand quantised(BlockBuilder& b, const Linear& linear) {
  constexpr double kScaleAndClamp = 2;
  const TensorId copy = add_elementwise(
      b, {linear.name + ".cast", OpKind::cast, linear.part, kScaleAndClamp}, linear.input.tensor);
  b.graph.tensors[at(copy)].dtype = DType::fp8;
  return {copy, linear.input.shape};
}

TensorId add_product(BlockBuilder& b, const Linear& linear) {
  const std::string weight_name = linear.weight.empty() ? linear.name + ".weight" : linear.weight;
  const Shape matrix = joined(linear.reduced, linear.features);
  const TensorId weight = b.weight(weight_name, joined(linear.groups, matrix));
  const bool in_fp8 =
      b.options.compute == DType::fp8 && linear.part != Part::head && !linear.adapter;
  if (in_fp8) { b.graph.tensors[at(weight)].dtype = DType::fp8; }
  const Operand input = in_fp8 ? quantised(b, linear) : linear.input;
  const Shape rows = joined(linear.groups, linear.rows);
  const Shape out_shape = joined(rows, linear.features);
  const std::string out_name = linear.bias ? linear.name + ".product" : linear.name;
  const TensorId out = b.activation(out_name, out_shape);
  b.add({.name = linear.name,
         .kind = linear.groups.empty() ? OpKind::matmul : OpKind::grouped_matmul,
         .cls = OpClass::contraction,
         .part = linear.part,
         .space = joined(out_shape, linear.reduced),
         .reduced = static_cast<int>(linear.reduced.size()),
         .flops_per_point = 2 * linear.counted,
         .executed = 1 / linear.counted,
         .inputs = {input},
         .weights = {b.whole(weight)},
         .outputs = {b.whole(out)},
         .saved = {input.tensor},
         .input_needs_gradient = linear.input_needs_gradient});
  return out;
}

}  // namespace

Shape joined(Shape a, const Shape& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TensorId BlockBuilder::tensor(std::string name, Shape shape, Role role, DType dtype) {
  graph.tensors.push_back(
      {.name = std::move(name), .shape = std::move(shape), .dtype = dtype, .role = role});
  return static_cast<TensorId>(graph.tensors.size() - 1);
}
TensorId BlockBuilder::activation(std::string name, Shape shape) {
  return tensor(std::move(name), std::move(shape), Role::activation,
                stored_format(options.compute));
}
TensorId BlockBuilder::weight(std::string name, Shape shape) {
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const Tensor& t = graph.tensors[i];
    if (t.role == Role::weight && t.name == name) { return static_cast<TensorId>(i); }
  }
  return tensor(std::move(name), std::move(shape), Role::weight, stored_format(options.compute));
}
TensorId BlockBuilder::index(std::string name, Shape shape) {
  return tensor(std::move(name), std::move(shape), Role::index, DType::int64);
}

const Shape& BlockBuilder::shape_of(TensorId id) const { return graph.tensors[at(id)].shape; }

void BlockBuilder::add(Op op) {
  for (const Operand& out : op.outputs) {
    graph.tensors[at(out.tensor)].producer = static_cast<OpId>(graph.ops.size());
  }
  graph.ops.push_back(std::move(op));
}

TensorId add_linear(BlockBuilder& b, const Linear& linear) {
  TensorId y = add_product(b, linear);
  if (linear.bias) {
    const TensorId vector = b.weight(linear.name + ".bias", joined(linear.groups, linear.features));
    y = add_bias(b, linear.name + "_bias", linear.part, y, b.whole(vector));
  }
  return has_adapter(b.config, linear) ? add_adapter(b, linear, y) : y;
}

TensorId add_bias(BlockBuilder& b, const std::string& name, Part part, TensorId x, Operand row) {
  const TensorId y = b.activation(name, b.shape_of(x));
  b.add({.name = name,
         .kind = OpKind::bias,
         .cls = OpClass::elementwise,
         .part = part,
         .space = b.shape_of(x),
         .flops_per_point = 1,
         .inputs = {b.whole(x)},
         .weights = {std::move(row)},
         .outputs = {b.whole(y)}});
  return y;
}

TensorId add_norm(BlockBuilder& b, const std::string& name, TensorId x) {
  const Shape shape = b.shape_of(x);
  const Shape rows(shape.begin(), shape.end() - 1);
  const Shape last{shape.back()};
  const bool layer_norm = b.config.norm == Norm::layer_norm;
  const TensorId y = b.activation(name, shape);
  // Operations per element [arXiv:2007.00072, table A.1] for the layer norm; the RMS norm spares
  // the mean and the shift.
  Op op{.name = name,
        .kind = layer_norm ? OpKind::layer_norm : OpKind::rms_norm,
        .cls = OpClass::normalization,
        .part = Part::norm,
        .space = shape,
        .reduced = 1,
        .flops_per_point = layer_norm ? 7.0 : 4.0,
        .inputs = {b.whole(x)},
        .weights = {b.whole(b.weight(name + ".weight", last))},
        .outputs = {b.whole(y)},
        .saved = {x}};
  const auto keep_statistic = [&](const char* what) {
    const TensorId t = b.tensor(name + what, rows, Role::statistic, DType::fp32);
    op.outputs.push_back(b.whole(t));
    op.saved.push_back(t);
  };
  if (layer_norm) {
    op.weights.push_back(b.whole(b.weight(name + ".bias", last)));
    keep_statistic(".mean");
  }
  keep_statistic(".rstd");
  b.add(std::move(op));
  return y;
}

TensorId add_dropout(BlockBuilder& b, const std::string& name, Part part, TensorId x,
                     double probability) {
  if (!b.options.dropout || probability <= 0) { return x; }
  const Shape shape = b.shape_of(x);
  const TensorId y = b.activation(name, shape);
  const TensorId mask = b.tensor(name + ".mask", shape, Role::mask, DType::bool8);
  b.add({.name = name,
         .kind = OpKind::dropout,
         .cls = OpClass::elementwise,
         .part = part,
         .space = shape,
         .flops_per_point = 1,
         .inputs = {b.whole(x)},
         .outputs = {b.whole(y), b.whole(mask)},
         .saved = {mask}});
  return y;
}

TensorId add_residual(BlockBuilder& b, const std::string& name, TensorId x, TensorId y) {
  const TensorId sum = b.activation(name, b.shape_of(x));
  b.add({.name = name,
         .kind = OpKind::residual_add,
         .cls = OpClass::elementwise,
         .part = Part::residual,
         .space = b.shape_of(x),
         .flops_per_point = 1,
         .inputs = {b.whole(x), b.whole(y)},
         .outputs = {b.whole(sum)}});
  return sum;
}

TensorId add_elementwise(BlockBuilder& b, const Elementwise& op, TensorId x) {
  const TensorId y = b.activation(op.name, b.shape_of(x));
  b.add({.name = op.name,
         .kind = op.kind,
         .cls = OpClass::elementwise,
         .part = op.part,
         .space = b.shape_of(x),
         .flops_per_point = op.flops,
         .inputs = {b.whole(x)},
         .outputs = {b.whole(y)}});
  return y;
}

}  // namespace tsim::models
