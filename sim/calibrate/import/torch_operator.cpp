#include "sim/calibrate/import/torch_operator.hpp"

#include <algorithm>
#include <array>

namespace tsim::calibrate {
namespace {

using sim::Json;
using Dims = std::vector<std::int64_t>;

/// A tensor that an operator reads.
struct Input {
  Dims dims, strides;
  std::string type;
};

Dims dims_of(const Json& list, std::size_t at) {
  Dims dims;
  if (!list.is_array() || at >= list.size() || !list[at].is_array()) { return dims; }
  for (const Json& n : list[at]) {
    if (!n.is_number_integer()) { return {}; }
    dims.push_back(n.get<std::int64_t>());
  }
  return dims;
}

const Json& argument(const Json& event, const char* key) {
  static const Json kNone;
  const auto args = event.find("args");
  if (args == event.end() || !args->is_object()) { return kNone; }
  const auto at = args->find(key);
  return at == args->end() ? kNone : *at;
}

Input input_at(const Json& event, std::size_t at) {
  const Json& types = argument(event, "Input type");
  const bool typed = types.is_array() && at < types.size() && types[at].is_string();
  return {dims_of(argument(event, "Input Dims"), at), dims_of(argument(event, "Input Strides"), at),
          typed ? types[at].get<std::string>() : std::string()};
}

std::string dtype_of(const Input& input) {
  if (input.type == "float") { return "fp32"; }
  if (input.type == "c10::BFloat16") { return "bf16"; }
  return input.type == "c10::Half" ? "fp16" : "";
}

std::string joined(const Dims& numbers) {
  std::string text;
  for (const std::int64_t n : numbers) { text += " " + std::to_string(n); }
  return text;
}

/// Whether the last axis but one is the dense one.
bool is_transposed(const Input& input) {
  const std::size_t n = input.strides.size();
  return n >= 2 && input.strides[n - 1] != 1 && input.strides[n - 2] == 1;
}

std::string product_line(const Json& event, std::size_t first) {
  const Input a = input_at(event, first);
  const Input b = input_at(event, first + 1);
  const std::size_t n = a.dims.size();
  if (n < 2 || b.dims.size() != n) { return {}; }
  const std::string transposes = is_transposed(a) ? "tn" : is_transposed(b) ? "nt" : "nn";
  const Dims shape{a.dims[n - 2], b.dims[n - 1], a.dims[n - 1]};
  const std::string head = dtype_of(a) + " " + transposes;
  return n == 2 ? "gemm " + head + joined(shape)
                : "bmm " + head + joined({a.dims[0]}) + joined(shape);
}

std::int64_t elements(const Dims& dims) {
  std::int64_t product = 1;
  for (const std::int64_t n : dims) { product *= n; }
  return product;
}

std::string map_line(const Json& event, const std::string& op) {
  const Input a = input_at(event, 0);
  return "map " + dtype_of(a) + " " + op + joined({elements(a.dims)});
}

std::string rows_line(const Json& event, const std::string& kind) {
  const Input a = input_at(event, 0);
  if (a.dims.empty() || a.dims.back() < 1) { return {}; }
  const std::string& name = kind;
  const std::size_t blank = name.find(' ');
  return name.substr(0, blank) + " " + dtype_of(a) + name.substr(blank) +
         joined({elements(a.dims) / a.dims.back(), a.dims.back()});
}

/// Queries [batch, heads, sequence, width]; keys the same. The mask is an argument of its own.
std::string attention_line(const Json& event, const std::string& way, std::size_t first) {
  const Input q = input_at(event, first);
  const Input k = input_at(event, first + 1);
  if (q.dims.size() != 4 || k.dims.size() != 4) { return {}; }
  const Json& values = argument(event, "Concrete Inputs");
  bool causal = false;
  for (const Json& value : values) { causal = causal || value == "True"; }
  return "attention " + dtype_of(q) + " " + way + (causal ? " causal" : " full") +
         joined({q.dims[0] * q.dims[1], q.dims[2], k.dims[2], q.dims[3]});
}

struct Name {
  std::string_view op;
  std::string_view kind;  // "product", "map", "rows", "attention"
  std::string_view line;  // what follows in the work line
  std::size_t first;      // of its inputs
};

constexpr std::array<Name, 19> kNames{
    {{"aten::mm", "product", "", 0},
     {"aten::addmm", "product", "", 1},
     {"aten::bmm", "product", "", 0},
     {"aten::add", "map", "add", 0},
     {"aten::add_", "map", "add", 0},
     {"aten::copy_", "map", "copy", 0},
     {"aten::gelu", "map", "gelu", 0},
     {"aten::gelu_backward", "map", "gelu_bwd", 0},
     {"aten::native_dropout", "map", "dropout", 0},
     {"aten::native_dropout_backward", "map", "dropout_bwd", 0},
     {"aten::native_layer_norm", "rows", "layernorm fwd", 0},
     {"aten::native_layer_norm_backward", "rows", "layernorm bwd", 0},
     {"aten::_softmax", "rows", "softmax fwd", 0},
     {"aten::_softmax_backward_data", "rows", "softmax bwd", 0},
     {"aten::_log_softmax", "rows", "cross_entropy fwd", 0},
     {"aten::_log_softmax_backward_data", "rows", "cross_entropy bwd", 0},
     {"aten::_scaled_dot_product_flash_attention", "attention", "fwd", 0},
     {"aten::_scaled_dot_product_cudnn_attention", "attention", "fwd", 0},
     {"aten::_scaled_dot_product_flash_attention_backward", "attention", "bwd", 1}}};

}  // namespace

std::optional<cost::Subject> subject_of_operator(const Json& event) {
  const auto written = event.find("name");
  if (written == event.end() || !written->is_string()) { return std::nullopt; }
  const auto& text = written->get_ref<const std::string&>();
  const auto name =
      std::find_if(kNames.begin(), kNames.end(), [&](const Name& one) { return one.op == text; });
  if (name == kNames.end()) { return std::nullopt; }
  const std::string line(name->line);
  if (name->kind == "product") { return cost::subject_of(product_line(event, name->first)); }
  if (name->kind == "map") { return cost::subject_of(map_line(event, line)); }
  if (name->kind == "rows") { return cost::subject_of(rows_line(event, line)); }
  return cost::subject_of(attention_line(event, line, name->first));
}

}  // namespace tsim::calibrate
