// A graph of cuDNN's operations that the library compiles to a kernel or a few.
#pragma once

#ifdef TSIM_HAVE_CUDNN

#include <cudnn.h>

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "sim/calibrate/cuda/gpu.hpp"

namespace tsim::calibrate {

class DnnGraph {
 public:
  using Four = std::array<std::int64_t, 4>;
  using Descriptor = std::unique_ptr<void, cudnnStatus_t (*)(cudnnBackendDescriptor_t)>;

  DnnGraph();

  /// A tensor that lives in memory; tensors are told apart by their number.
  int stored(const Four& dims, const Four& strides, cudnnDataType_t type);
  /// One that only exists inside the graph, dense.
  int hidden(const Four& dims, cudnnDataType_t type = CUDNN_DATA_FLOAT);
  int hidden(const Four& dims, const Four& strides, cudnnDataType_t type);
  int scalar(float value);

  /// y = mode(x), mode(x, b) or, where `mask` is true, x and else b.
  struct Pointwise {
    cudnnPointwiseMode_t mode{};
    int x = 0, b = -1, mask = -1;
    int axis = -1;  // of an index
    cudnnDataType_t math = CUDNN_DATA_FLOAT;
  };
  void pointwise(const Pointwise& op, int y);
  void reduce(cudnnReduceTensorOp_t how, int x, int y);
  void multiply(int a, int b, int y);
  void reshape(int x, int y);

  /// Chooses the library's first plan that it can build; NotHere when there is none.
  void compile();

  /// The pointers of a call: of all stored tensors by number.
  struct Call {
    Descriptor pack{nullptr, cudnnBackendDestroyDescriptor};
  };
  Call bind(const std::map<int, void*>& pointers);
  void run(const Call& call, cudaStream_t stream) const;

 private:
  void add(Descriptor operation);

  std::unique_ptr<cudnnContext, cudnnStatus_t (*)(cudnnHandle_t)> handle_;
  std::vector<Descriptor> tensors_, parts_, operations_;
  std::map<int, float*> scalars_;
  std::deque<float> values_;
  Descriptor plan_{nullptr, cudnnBackendDestroyDescriptor};
  Buffer workspace_;
};

/// Dense strides of dims.
DnnGraph::Four dense(const DnnGraph::Four& dims);

}  // namespace tsim::calibrate

#endif
