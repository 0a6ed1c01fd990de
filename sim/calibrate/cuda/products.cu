#include <cublasLt.h>

#include <array>
#include <vector>

#include "sim/calibrate/cuda/products.hpp"

namespace tsim::calibrate {
namespace {

constexpr std::size_t kScale = 4;  // floats from one scale to the next: they are read by 16 bytes
constexpr std::size_t kWorkspace = std::size_t{32} << 20;  // as PyTorch gives on Hopper

void check_blas(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) { return; }
  const std::string text =
      std::string("cuBLASLt: ") + what + " gave " + cublasLtGetStatusString(status);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) { throw NotHere(text); }
  if (status == CUBLAS_STATUS_ALLOC_FAILED) { throw OutOfMemory(text); }
  throw std::runtime_error(text);
}

cudaDataType_t data_type(const std::string& dtype) {
  if (dtype == "bf16") { return CUDA_R_16BF; }
  if (dtype == "fp16") { return CUDA_R_16F; }
  if (dtype == "fp8") { return CUDA_R_8F_E4M3; }
  return CUDA_R_32F;
}

using Layout = std::unique_ptr<cublasLtMatrixLayoutOpaque_t, void (*)(cublasLtMatrixLayout_t)>;

/// A row-major [rows, columns] matrix, which is a column-major [columns, rows] one.
Layout layout(cudaDataType_t type, long rows, long columns, long batch) {
  cublasLtMatrixLayout_t made = nullptr;
  check_blas(cublasLtMatrixLayoutCreate(&made, type, static_cast<std::uint64_t>(columns),
                                        static_cast<std::uint64_t>(rows), columns),
             "layout");
  Layout owned{made, [](cublasLtMatrixLayout_t l) { cublasLtMatrixLayoutDestroy(l); }};
  if (batch > 1) {
    const auto count = static_cast<std::int32_t>(batch);
    const std::int64_t stride = rows * columns;
    cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count,
                                     sizeof count);
    cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
                                     sizeof stride);
  }
  return owned;
}

}  // namespace

struct Blas::State {
  cublasLtHandle_t handle = nullptr;
  Buffer workspace;

  State() : workspace(Buffer::on_device(kWorkspace)) {
    check_blas(cublasLtCreate(&handle), "create");
  }
  ~State() { cublasLtDestroy(handle); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

Blas::Blas() : state_(std::make_unique<State>()) {}
Blas::~Blas() = default;

struct ProductPlan::State {
  const Blas::State* blas = nullptr;
  cublasLtMatmulDesc_t operation = nullptr;
  Layout a{nullptr, nullptr}, b{nullptr, nullptr}, c{nullptr, nullptr};
  cublasLtMatmulAlgo_t algorithm{};
  Buffer scales;
  float one = 1.0F, beta = 0.0F;
  bool biased = false;

  State() = default;
  ~State() {
    if (operation != nullptr) { cublasLtMatmulDescDestroy(operation); }
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  template <typename T>
  void set(cublasLtMatmulDescAttributes_t attribute, const T& value) {
    check_blas(cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof value),
               "operation");
  }

  /// Factors of fp8 operands.
  void add_scales() {
    scales = Buffer::on_device(2 * kScale * sizeof(float));
    std::array<float, 2 * kScale> ones{};
    ones.fill(1.0F);
    check(cudaMemcpy(scales.data(), ones.data(), sizeof ones, cudaMemcpyHostToDevice));
    set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, scales.as<float>());
    set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, scales.as<float>() + kScale);
  }

  void choose_algorithm() {
    cublasLtMatmulPreference_t preference = nullptr;
    check_blas(cublasLtMatmulPreferenceCreate(&preference), "preference");
    cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                         &kWorkspace, sizeof kWorkspace);
    cublasLtMatmulHeuristicResult_t result{};
    int found = 0;
    const cublasStatus_t status =
        cublasLtMatmulAlgoGetHeuristic(blas->handle, operation, b.get(), a.get(), c.get(), c.get(),
                                       preference, 1, &result, &found);
    cublasLtMatmulPreferenceDestroy(preference);
    check_blas(status, "heuristic");
    if (found == 0) { throw NotHere("cuBLASLt has no kernel for this product"); }
    algorithm = result.algo;
  }
};

ProductPlan::ProductPlan(const Blas& blas, const Product& product, bool biased)
    : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.blas = blas.state_.get();
  s.biased = biased;
  const bool fp8 = product.dtype == "fp8";
  const bool add = product.layout == "tn+";
  const bool a_turned = product.layout.starts_with("tn");  // stored [k, m]
  const bool b_turned = product.layout == "nt";            // stored [n, k]
  if (fp8 && product.layout != "nt") { throw NotHere("fp8 products are of layout nt only"); }
  const cudaDataType_t in = data_type(product.dtype);
  const cudaDataType_t out = add ? CUDA_R_32F : fp8 ? CUDA_R_16BF : in;
  check_blas(
      cublasLtMatmulDescCreate(
          &s.operation, product.dtype == "tf32" ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F,
          CUDA_R_32F),
      "operation");
  // Column-major, C^T[n, m] = B^T A^T: the library's first operand is B.
  s.set(CUBLASLT_MATMUL_DESC_TRANSA, b_turned ? CUBLAS_OP_T : CUBLAS_OP_N);
  s.set(CUBLASLT_MATMUL_DESC_TRANSB, a_turned ? CUBLAS_OP_T : CUBLAS_OP_N);
  if (biased) { s.set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS); }
  const auto [m, n, k] = std::array{product.m, product.n, product.k};
  s.a = a_turned ? layout(in, k, m, product.batch) : layout(in, m, k, product.batch);
  s.b = b_turned ? layout(in, n, k, product.batch) : layout(in, k, n, product.batch);
  s.c = layout(out, m, n, product.batch);
  if (fp8) { s.add_scales(); }
  s.beta = add ? 1.0F : 0.0F;
  s.choose_algorithm();
}

ProductPlan::~ProductPlan() = default;
ProductPlan::ProductPlan(ProductPlan&&) noexcept = default;
ProductPlan& ProductPlan::operator=(ProductPlan&&) noexcept = default;

void ProductPlan::run(const Operands& o, cudaStream_t stream) const {
  State& s = *state_;
  if (s.biased) { s.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, o.bias); }
  check_blas(cublasLtMatmul(s.blas->handle, s.operation, &s.one, o.b, s.b.get(), o.a, s.a.get(),
                            &s.beta, o.c, s.c.get(), o.c, s.c.get(), &s.algorithm,
                            s.blas->workspace.data(), kWorkspace, stream),
             "product");
}

struct RunningProduct::State {
  Blas blas;
  ProductPlan plan;
  struct Operands {
    Buffer a, b, c;
  };
  std::vector<Operands> sets;
  cudaStream_t stream = nullptr;

  explicit State(const Product& product) : plan(blas, product) {}
};

RunningProduct::RunningProduct(const Product& product, bool cold, cudaStream_t stream)
    : state_(std::make_unique<State>(product)) {
  State& s = *state_;
  s.stream = stream;
  const Format format = format_of(product.dtype);
  const auto bytes = [&](long rows, long columns, std::size_t each) {
    return static_cast<std::size_t>(product.batch * rows * columns) * each;
  };
  const bool wide = product.layout == "tn+" || format == Format::fp32;
  const std::size_t a_bytes = bytes(product.m, product.k, size_of(format));
  const std::size_t b_bytes = bytes(product.n, product.k, size_of(format));
  const std::size_t c_bytes = bytes(product.m, product.n, wide ? 4 : 2);
  const int sets = operand_sets(a_bytes + b_bytes + c_bytes, cold);
  for (int i = 0; i < sets; ++i) {
    s.sets.push_back(
        {Buffer::on_device(a_bytes), Buffer::on_device(b_bytes), Buffer::on_device(c_bytes)});
    fill(s.sets.back().a, format, stream);
    fill(s.sets.back().b, format, stream);
    check(cudaMemsetAsync(s.sets.back().c.data(), 0, c_bytes, stream));
  }
}

RunningProduct::~RunningProduct() = default;
RunningProduct::RunningProduct(RunningProduct&&) noexcept = default;
RunningProduct& RunningProduct::operator=(RunningProduct&&) noexcept = default;

void RunningProduct::operator()(int call) const {
  const State::Operands& o = state_->sets[static_cast<std::size_t>(call) % state_->sets.size()];
  state_->plan.run({o.a.data(), o.b.data(), o.c.data()}, state_->stream);
}

Summary time_product(const Product& product, bool cold, cudaStream_t stream) {
  const RunningProduct run(product, cold, stream);
  return time_calls([&](int call) { run(call); }, stream);
}

std::string blas_version() {
  const std::size_t version = cublasLtGetVersion();
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

}  // namespace tsim::calibrate
