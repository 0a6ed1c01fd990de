#include "sim/calibrate/cuda/dnn_graph.hpp"

#ifdef TSIM_HAVE_CUDNN

#include <string>

namespace tsim::calibrate {
namespace {

using Descriptor = DnnGraph::Descriptor;

void check_dnn(cudnnStatus_t status, const char* what) {
  if (status == CUDNN_STATUS_SUCCESS) { return; }
  std::array<char, 512> last{};
  cudnnGetLastErrorString(last.data(), last.size());
  const std::string text = std::string("cuDNN: ") + what + " gave " + cudnnGetErrorString(status) +
                           " (" + last.data() + ")";
  // Its statuses of 3000 and above say that the library has no such kernel.
  if (status / 1000 == CUDNN_STATUS_NOT_SUPPORTED / 1000) { throw NotHere(text); }
  throw std::runtime_error(text);
}

Descriptor made(cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t raw = nullptr;
  check_dnn(cudnnBackendCreateDescriptor(type, &raw), "descriptor");
  return {raw, cudnnBackendDestroyDescriptor};
}

template <typename T>
void set(const Descriptor& d, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
         const T& value) {
  check_dnn(cudnnBackendSetAttribute(d.get(), name, type, 1, &value), "attribute");
}

void set_four(const Descriptor& d, cudnnBackendAttributeName_t name, const DnnGraph::Four& four) {
  check_dnn(cudnnBackendSetAttribute(d.get(), name, CUDNN_TYPE_INT64, 4, four.data()),
            "dimensions");
}

void set_part(const Descriptor& d, cudnnBackendAttributeName_t name, const Descriptor& part) {
  cudnnBackendDescriptor_t raw = part.get();
  set(d, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, raw);
}

void finalize(const Descriptor& d, const char* what) {
  check_dnn(cudnnBackendFinalize(d.get()), what);
}

struct TensorKind {
  cudnnDataType_t type{};
  bool is_virtual = false, by_value = false;
};

Descriptor tensor(std::int64_t number, const DnnGraph::Four& dims, const DnnGraph::Four& strides,
                  const TensorKind& kind) {
  Descriptor d = made(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  const std::int64_t alignment = kind.by_value ? 4 : 16;
  set(d, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, kind.type);
  set_four(d, CUDNN_ATTR_TENSOR_DIMENSIONS, dims);
  set_four(d, CUDNN_ATTR_TENSOR_STRIDES, strides);
  set(d, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, number);
  set(d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, alignment);
  set(d, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, kind.is_virtual);
  set(d, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, kind.by_value);
  finalize(d, "tensor");
  return d;
}

/// The configurations that the library's heuristic proposes for a graph, best first.
std::vector<Descriptor> proposals(const Descriptor& graph) {
  const Descriptor heuristic = made(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  set_part(heuristic, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  const cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A;
  set(heuristic, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
  finalize(heuristic, "heuristic");
  constexpr std::int64_t kMost = 8;
  std::vector<Descriptor> found;
  std::array<cudnnBackendDescriptor_t, kMost> raw{};
  for (cudnnBackendDescriptor_t& one : raw) {
    found.push_back(made(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
    one = found.back().get();
  }
  std::int64_t count = 0;
  check_dnn(cudnnBackendGetAttribute(heuristic.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                     CUDNN_TYPE_BACKEND_DESCRIPTOR, kMost, &count, raw.data()),
            "heuristic");
  while (static_cast<std::int64_t>(found.size()) > count) { found.pop_back(); }
  return found;
}

}  // namespace

DnnGraph::Four dense(const DnnGraph::Four& dims) {
  return {dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3], 1};
}

DnnGraph::DnnGraph() : handle_(nullptr, cudnnDestroy) {
  cudnnHandle_t raw = nullptr;
  check_dnn(cudnnCreate(&raw), "start");
  handle_.reset(raw);
}

int DnnGraph::stored(const Four& dims, const Four& strides, cudnnDataType_t type) {
  const auto number = static_cast<int>(tensors_.size());
  tensors_.push_back(tensor(number, dims, strides, {type, false, false}));
  return number;
}

int DnnGraph::hidden(const Four& dims, cudnnDataType_t type) {
  return hidden(dims, dense(dims), type);
}

int DnnGraph::hidden(const Four& dims, const Four& strides, cudnnDataType_t type) {
  const auto number = static_cast<int>(tensors_.size());
  tensors_.push_back(tensor(number, dims, strides, {type, true, false}));
  return number;
}

int DnnGraph::scalar(float value) {
  const auto number = static_cast<int>(tensors_.size());
  const Four ones{1, 1, 1, 1};
  tensors_.push_back(tensor(number, ones, ones, {CUDNN_DATA_FLOAT, false, true}));
  values_.push_back(value);
  scalars_[number] = &values_.back();
  return number;
}

void DnnGraph::add(Descriptor operation) {
  finalize(operation, "operation");
  operations_.push_back(std::move(operation));
}

void DnnGraph::pointwise(const Pointwise& op, int y) {
  Descriptor part = made(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  set(part, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, op.mode);
  set(part, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, op.math);
  if (op.axis >= 0) {
    const std::int64_t axis = op.axis;
    set(part, CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, axis);
  }
  finalize(part, "pointwise");
  Descriptor d = made(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  const auto operand = [&](cudnnBackendAttributeName_t name, int number) {
    if (number >= 0) { set_part(d, name, tensors_[static_cast<std::size_t>(number)]); }
  };
  set_part(d, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, part);
  operand(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, op.x);
  operand(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, op.b);
  operand(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, op.mask);
  operand(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
  parts_.push_back(std::move(part));
  add(std::move(d));
}

void DnnGraph::reduce(cudnnReduceTensorOp_t how, int x, int y) {
  Descriptor part = made(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  const cudnnDataType_t math = CUDNN_DATA_FLOAT;
  set(part, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, how);
  set(part, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, math);
  finalize(part, "reduction");
  Descriptor d = made(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  set_part(d, CUDNN_ATTR_OPERATION_REDUCTION_DESC, part);
  set_part(d, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, tensors_[static_cast<std::size_t>(x)]);
  set_part(d, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, tensors_[static_cast<std::size_t>(y)]);
  parts_.push_back(std::move(part));
  add(std::move(d));
}

void DnnGraph::multiply(int a, int b, int y) {
  Descriptor part = made(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  const cudnnDataType_t math = CUDNN_DATA_FLOAT;
  set(part, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, math);
  finalize(part, "product");
  Descriptor d = made(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  set_part(d, CUDNN_ATTR_OPERATION_MATMUL_DESC, part);
  set_part(d, CUDNN_ATTR_OPERATION_MATMUL_ADESC, tensors_[static_cast<std::size_t>(a)]);
  set_part(d, CUDNN_ATTR_OPERATION_MATMUL_BDESC, tensors_[static_cast<std::size_t>(b)]);
  set_part(d, CUDNN_ATTR_OPERATION_MATMUL_CDESC, tensors_[static_cast<std::size_t>(y)]);
  parts_.push_back(std::move(part));
  add(std::move(d));
}

void DnnGraph::reshape(int x, int y) {
  Descriptor d = made(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
  set_part(d, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, tensors_[static_cast<std::size_t>(x)]);
  set_part(d, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, tensors_[static_cast<std::size_t>(y)]);
  add(std::move(d));
}

void DnnGraph::compile() {
  std::vector<cudnnBackendDescriptor_t> raw;
  for (const Descriptor& operation : operations_) { raw.push_back(operation.get()); }
  Descriptor graph = made(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  cudnnHandle_t handle = handle_.get();
  set(graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle);
  check_dnn(cudnnBackendSetAttribute(graph.get(), CUDNN_ATTR_OPERATIONGRAPH_OPS,
                                     CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                     static_cast<std::int64_t>(raw.size()), raw.data()),
            "operations");
  finalize(graph, "graph");
  for (Descriptor& proposal : proposals(graph)) {
    Descriptor plan = made(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    set(plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle);
    set_part(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, proposal);
    if (cudnnBackendFinalize(plan.get()) != CUDNN_STATUS_SUCCESS) { continue; }
    std::int64_t bytes = 0;
    std::int64_t count = 0;
    check_dnn(cudnnBackendGetAttribute(plan.get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                       CUDNN_TYPE_INT64, 1, &count, &bytes),
              "workspace");
    workspace_ = Buffer::on_device(static_cast<std::size_t>(bytes));
    plan_ = std::move(plan);
    parts_.push_back(std::move(graph));
    parts_.push_back(std::move(proposal));
    return;
  }
  throw NotHere("cuDNN has no kernel for this attention");
}

DnnGraph::Call DnnGraph::bind(const std::map<int, void*>& pointers) {
  std::vector<std::int64_t> numbers;
  std::vector<void*> data;
  const auto take = [&](int number, void* at) {
    numbers.push_back(number);
    data.push_back(at);
  };
  for (const auto& [number, at] : pointers) { take(number, at); }
  for (const auto& [number, at] : scalars_) { take(number, at); }
  Call call{made(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)};
  const auto count = static_cast<std::int64_t>(numbers.size());
  check_dnn(cudnnBackendSetAttribute(call.pack.get(), CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS,
                                     CUDNN_TYPE_INT64, count, numbers.data()),
            "numbers");
  check_dnn(cudnnBackendSetAttribute(call.pack.get(), CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS,
                                     CUDNN_TYPE_VOID_PTR, count, data.data()),
            "pointers");
  void* const workspace = workspace_.data();
  set(call.pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
  finalize(call.pack, "call");
  return call;
}

void DnnGraph::run(const Call& call, cudaStream_t stream) const {
  check_dnn(cudnnSetStream(handle_.get(), stream), "stream");
  check_dnn(cudnnBackendExecute(handle_.get(), plan_.get(), call.pack.get()), "attention");
}

}  // namespace tsim::calibrate

#endif
