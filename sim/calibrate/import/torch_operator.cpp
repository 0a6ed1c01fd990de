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
  static const Json none;
  const auto args = event.find("args");
  if (args == event.end() || !args->is_object()) { return none; }
  const auto at = args->find(key);
  return at == args->end() ? none : *at;
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

/// Whether elements lie one after the other; true when the trace has no strides.
bool is_dense(const Input& input) {
  std::int64_t step = 1;
  for (std::size_t i = std::min(input.dims.size(), input.strides.size()); i-- > 0;) {
    if (input.dims[i] != 1 && input.strides[i] != step) { return false; }
    step *= input.dims[i];
  }
  return true;
}

/// Element-wise on dense tensors of one format: anything else is another kernel.
std::string map_line(const Json& event, const std::string& op) {
  const Input a = input_at(event, 0);
  const Input b = input_at(event, 1);
  const bool same = b.dims.empty() || (b.dims == a.dims && b.type == a.type && is_dense(b));
  if (!same || !is_dense(a)) { return {}; }
  return "map " + dtype_of(a) + " " + op + joined({elements(a.dims)});
}

/// Three tensors of one shape joined: gradients of queries, keys and values. The format is not in
/// the trace; training joins 16-bit ones.
std::string join_line(const Json& event) {
  const Json& all = argument(event, "Input Dims");
  if (!all.is_array() || all.empty() || !all[0].is_array() || all[0].size() != 3) { return {}; }
  const Dims first = dims_of(all[0], 0);
  for (std::size_t i = 1; i < 3; ++i) {
    if (first.empty() || dims_of(all[0], i) != first) { return {}; }
  }
  return "map bf16 join" + joined({3 * elements(first)});
}

std::string rows_line(const Json& event, const std::string& kind) {
  const Input a = input_at(event, 0);
  if (a.dims.empty() || a.dims.back() < 1) { return {}; }
  const std::size_t blank = kind.find(' ');
  return kind.substr(0, blank) + " " + dtype_of(a) + kind.substr(blank) +
         joined({elements(a.dims) / a.dims.back(), a.dims.back()});
}

/// Where an attention operator has what.
struct AttentionForm {
  std::string_view op;
  std::string_view way;
  std::size_t query;   // the input; the keys follow
  std::size_t causal;  // the argument
  std::size_t heads;   // axis of the heads; the sequence is the other inner one
};

constexpr std::array<AttentionForm, 4> kAttention{
    {{"aten::_cudnn_attention_forward", "fwd", 0, 10, 1},
     {"aten::_cudnn_attention_backward", "bwd", 1, 14, 1},
     {"aten::_flash_attention_forward", "fwd", 0, 8, 2},
     {"aten::_flash_attention_backward", "bwd", 1, 11, 2}}};

std::string attention_line(const Json& event, const AttentionForm& form) {
  const Input q = input_at(event, form.query);
  const Input k = input_at(event, form.query + 1);
  if (q.dims.size() != 4 || k.dims.size() != 4) { return {}; }
  const Json& values = argument(event, "Concrete Inputs");
  const bool listed = values.is_array() && values.size() > form.causal;
  if (!listed) { return {}; }
  const std::size_t sequence = 3 - form.heads;
  return "attention " + dtype_of(q) + " " + std::string(form.way) +
         (values[form.causal] == "True" ? " causal" : " full") +
         joined({q.dims[0] * q.dims[form.heads], q.dims[sequence], k.dims[sequence], q.dims[3]});
}

struct Name {
  std::string_view op;
  std::string_view kind;  // "product", "map", "rows", "join"
  std::string_view line;  // what follows in the work line
  std::size_t first = 0;  // of its inputs
};

constexpr std::array<Name, 17> kNames{
    {{"aten::mm", "product", ""},
     {"aten::addmm", "product", "", 1},
     {"aten::bmm", "product", ""},
     {"aten::add", "map", "add"},
     {"aten::add_", "map", "add"},
     {"aten::copy_", "map", "copy"},
     {"aten::cat", "join", ""},
     {"aten::gelu", "map", "gelu"},
     {"aten::gelu_backward", "map", "gelu_bwd"},
     {"aten::native_dropout", "map", "dropout"},
     {"aten::native_dropout_backward", "map", "dropout_bwd"},
     {"aten::native_layer_norm", "rows", "layernorm fwd"},
     {"aten::native_layer_norm_backward", "rows", "layernorm bwd"},
     {"aten::_softmax", "rows", "softmax fwd"},
     {"aten::_softmax_backward_data", "rows", "softmax bwd"},
     {"aten::_log_softmax", "rows", "cross_entropy fwd"},
     {"aten::_log_softmax_backward_data", "rows", "cross_entropy bwd"}}};

std::string line_of(const Json& event, const std::string& op) {
  for (const AttentionForm& form : kAttention) {
    if (form.op == op) { return attention_line(event, form); }
  }
  for (const Name& name : kNames) {
    if (name.op != op) { continue; }
    if (name.kind == "product") { return product_line(event, name.first); }
    if (name.kind == "map") { return map_line(event, std::string(name.line)); }
    return name.kind == "join" ? join_line(event) : rows_line(event, std::string(name.line));
  }
  return {};
}

}  // namespace

std::int64_t copied_elements(const Json& event) {
  const auto name = event.find("name");
  const bool copy = name != event.end() && *name == "aten::copy_";
  const Dims dims = copy ? dims_of(argument(event, "Input Dims"), 0) : Dims{};
  return dims.empty() ? 0 : elements(dims);
}

std::optional<cost::Subject> subject_of_operator(const Json& event) {
  const auto written = event.find("name");
  if (written == event.end() || !written->is_string()) { return std::nullopt; }
  return cost::subject_of(line_of(event, written->get_ref<const std::string&>()));
}

}  // namespace tsim::calibrate
