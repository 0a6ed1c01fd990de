#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "sim/calibrate/import/imported_points.hpp"
#include "sim/calibrate/make_device.hpp"
#include "tests/sim/input/inputs.hpp"

using namespace tsim;
using namespace tsim::calibrate;

namespace {

/// "gemm bf16 nt 1 2 3: 4.5 us" of each point, in the order of the file.
std::vector<std::string> texts(const ImportedPoints& imported) {
  std::vector<std::string> list;
  for (const ImportedPoint& p : imported.points) {
    const double us = std::round(p.point.median.value * 1e9) / 1e3;
    std::string number = std::to_string(us);
    number.resize(number.find('.') + 4);
    list.push_back(cost::line_of(p.subject) + ": " + number + " us");
  }
  return list;
}

ImportedPoint point(const std::string& line, double us) {
  const auto subject = cost::subject_of(line);
  REQUIRE(subject);
  return {*subject, {.shape = subject->shape, .median = Seconds{us * 1e-6}}};
}

cost::Device device() {
  cost::Device d;
  d.memory_bandwidth = {1e12};
  d.matrix_peaks = {{models::DType::bf16, {100e12}}};
  d.vector_peak = {10e12};
  return d;
}

}  // namespace

TEST_CASE("a journal's lines become points, skipped ones a remark") {
  sim::Problems problems;
  const ImportedPoints imported = import_journal(
      R"({"tsim":"measurements 1","version":"0.1.0","device":"NVIDIA H200","driver":"580"}
{"work":"gemm bf16 nt 1024 1024 1024","us":6.4,"low":6.3,"high":6.5,"count":119,"cold_us":7.2,"sm_mhz":1980}
{"work":"memcpy p2p 1024","skipped":"no second device"}
)",
      problems);
  CHECK(problems.empty());
  CHECK(texts(imported) == std::vector<std::string>{"gemm bf16 nt 1024 1024 1024: 6.400 us"});
  CHECK(imported.points.front().point.cold.value == doctest::Approx(7.2e-6));
  CHECK(imported.points.front().point.count == 119);
  CHECK(imported.remarks.size() == 1);
  const auto& facts = imported.source.facts;
  CHECK(std::find(facts.begin(), facts.end(),
                  std::pair<std::string, std::string>("tsim_version", "0.1.0")) != facts.end());
  CHECK(imported.source.facts.back() == std::pair<std::string, std::string>("sm_mhz", "1980"));
}

TEST_CASE("each broken line of a journal is told with its number") {
  sim::Problems problems;
  import_journal("{\"tsim\":\"measurements 1\"}\nnonsense\n{\"work\":\"sleep 3\",\"us\":1}\n",
                 problems);
  REQUIRE(problems.errors().size() == 2);
  CHECK(to_text(problems.errors()[0]) == "line 2: found no JSON object, expected one on each line");
  CHECK(to_text(problems.errors()[1]) ==
        "line 3: found \"sleep 3\", expected a work line (tsim-measure --forms)");
}

TEST_CASE("a log of nccl-tests gives the out-of-place times of its collective") {
  // Rows of a log of eight A100 in one node, nccl-tests of 2021.
  sim::Problems problems;
  const ImportedPoints imported = import_nccl_log(
      R"(# nThread 1 nGpus 8 minBytes 1 maxBytes 8589934592 step: 2(factor)
#   Rank  0 Pid 112372 on localhost device  0 [0x00] A100-SXM4-40GB
#   Rank  7 Pid 112372 on localhost device  7 [0x00] A100-SXM4-40GB
# all_reduce_perf
#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error
           0             0   float     sum    35.20    0.00    0.00    N/A    34.05    0.00    0.00    N/A
        1024           256   float     sum    34.83    0.03    0.05  2e-07    34.61    0.03    0.05  2e-07
0:      4096          1024   float     sum      -1   168.6   24.87   46.64      0    167.7   25.02   46.91      0
# Avg bus bandwidth    : 1
)",
      problems);
  CHECK(problems.empty());
  CHECK(texts(imported) == std::vector<std::string>{"collective all_reduce 8 1024: 34.830 us",
                                                    "collective all_reduce 8 4096: 168.600 us"});
}

TEST_CASE("a log without ranks, rows or a collective's name says so") {
  sim::Problems problems;
  import_nccl_log("# busbw algbw\n", problems);
  CHECK(problems.errors().size() == 3);
}

TEST_CASE("SimuMax's shares of the peak become times") {
  // 2 x 4096 x 1536 x 5120 / (312 TFLOP/s x 0.75) = 275.318 us.
  sim::Problems problems;
  const ImportedPoints imported = import_simumax(R"({"sys_name": "a100", "accelerator": {"op": {
    "matmul": {"tflops": 312, "accurate_efficient_factor": {
      "b=1, m=4096, k=5120, n=1536, layout=TN, accumulate=False, out_dtype=bf16": 0.75,
      "b=1, m=1536, k=4096, n=5120, layout=NT, accumulate=True, out_dtype=fp32": 0.75,
      "b=8, m=64, k=32, n=16, layout=NN, accumulate=False": 0.1,
      "who knows": 0.5}}}}})",
                                                 problems);
  CHECK(problems.empty());
  CHECK(texts(imported) == std::vector<std::string>{"gemm bf16 tn+ 1536 5120 4096: 275.318 us",
                                                    "gemm bf16 nt 4096 1536 5120: 275.318 us",
                                                    "bmm bf16 nn 8 64 16 32: 0.017 us"});
  CHECK(imported.remarks.size() == 1);
}

TEST_CASE("SimuMax's groups of products and attention become times") {
  // 2 x 40 x 616 x 3072 x 5120 / (312 TFLOP/s x 0.5) = 4968.64 us.
  // 64 heads, 4096 tokens, widths 192 + 128: forward 2 x 64 x 4096^2 x 320 / 312 TFLOP/s =
  // 2202.55 us, backward 5/2 times that.
  sim::Problems problems;
  const ImportedPoints imported = import_simumax(R"({"accelerator": {"op": {
    "group_matmul": {"tflops": 312, "accurate_efficient_factor": {
      "ng=40, M=616, N=3072, K=5120, dtype=bf16, main_grad_dtype=bf16, stage=fwd, accumulate=False": 0.5,
      "ng=40, M=616, N=3072, K=5120, dtype=bf16, main_grad_dtype=fp32, stage=fwd, accumulate=False": 0.4,
      "ng=40, M=616, N=3072, K=5120, dtype=bf16, main_grad_dtype=fp32, stage=bwd_grad_act, accumulate=False": 0.5,
      "ng=40, M=616, N=3072, K=5120, dtype=bf16, main_grad_dtype=fp32, stage=bwd_grad_w, accumulate=True": 0.5}},
    "sdp_fwd": {"tflops": 312, "accurate_efficient_factor": {
      "batch=1, seq_len=4096, head_num=64, kv_head_num=64, qk_head_dim=192, v_head_dim=128, qkv_contiguous=False": 0.9,
      "batch=1, seq_len=4096, head_num=64, kv_head_num=64, qk_head_dim=192, v_head_dim=128, qkv_contiguous=True": 1.0}},
    "sdp_bwd": {"tflops": 312, "accurate_efficient_factor": {
      "batch=1, seq_len=4096, head_num=64, kv_head_num=64, qk_head_dim=192, v_head_dim=128, qkv_contiguous=True": 1.0}}}}})",
                                                 problems);
  CHECK(problems.empty());
  CHECK(texts(imported) ==
        std::vector<std::string>{"grouped bf16 nt 40 616 3072 5120: 4968.637 us",
                                 "grouped bf16 nn 40 616 5120 3072: 4968.637 us",
                                 "grouped bf16 tn+ 40 3072 5120 616: 4968.637 us",
                                 "attention bf16 fwd causal 64 4096 4096 192: 2202.547 us",
                                 "attention bf16 bwd causal 64 4096 4096 192: 5506.368 us"});
  CHECK(imported.remarks.empty());
}

TEST_CASE("a profiler's kernels count for the operator that started them") {
  // x [512, 768] times W^T: the second operand is dense along its first axis.
  sim::Problems problems;
  const ImportedPoints imported =
      import_torch_trace(R"({"deviceProperties": [{"name": "X"}], "traceEvents": [
    {"cat": "cpu_op", "name": "aten::mm", "args": {"External id": 1, "Input Dims": [[512, 768], [768, 3072]],
      "Input Strides": [[768, 1], [1, 768]], "Input type": ["c10::BFloat16", "c10::BFloat16"]}},
    {"cat": "kernel", "name": "gemm", "dur": 20, "args": {"External id": 1}},
    {"cat": "kernel", "name": "splitk", "dur": 5, "args": {"External id": 1}},
    {"cat": "cpu_op", "name": "aten::native_layer_norm", "args": {"External id": 2,
      "Input Dims": [[4, 128, 768], [], [768], [768], []], "Input type": ["float"]}},
    {"cat": "kernel", "name": "norm", "dur": 7, "args": {"External id": 2}},
    {"cat": "cpu_op", "name": "aten::sort", "args": {"External id": 3, "Input Dims": [[4]]}},
    {"cat": "kernel", "name": "sort", "dur": 7, "args": {"External id": 3}},
    {"cat": "cpu_op", "name": "aten::mm", "args": {"External id": 4}}]})",
                         problems);
  CHECK(problems.empty());
  CHECK(texts(imported) == std::vector<std::string>{"gemm bf16 nt 512 3072 768: 25.000 us",
                                                    "layernorm fp32 fwd 512 768: 7.000 us"});
  CHECK(imported.remarks == std::vector<std::string>{"1 operators that tsim times no kernel of"});
}

TEST_CASE("of PyTorch's eager times those near the host's shortest are left out") {
  sim::Problems problems;
  const ImportedPoints imported = import_kernel_table(R"({"gpu": "NVIDIA H200", "torch": "2.11",
    "gemm": [{"m": 512, "n": 768, "k": 768, "dtype": "bf16", "layout": "fwd:x@W.T", "us": 12.0},
             {"m": 1024, "n": 768, "k": 768, "dtype": "bf16", "layout": "wgrad:dy.T@x", "us": 16.0},
             {"m": 8192, "n": 8192, "k": 8192, "dtype": "bf16", "layout": "dgrad:dy@W", "us": 1550.0}],
    "ops": [{"op": "sdpa", "b": 4, "s": 2048, "heads": 16, "d": 128, "causal": true, "fwd_us": 143.5, "bwd_us": 455.5},
            {"op": "sdpa", "b": 8, "s": 512, "heads": 12, "d": 64, "causal": true, "fwd_us": 21.9, "bwd_us": 106.1}],
    "collectives": [{"op": "all_reduce", "bytes": 1024, "us": 20.0}]})",
                                                      problems);
  CHECK(problems.empty());
  CHECK(texts(imported) ==
        std::vector<std::string>{"gemm bf16 nn 8192 8192 8192: 1550.000 us",
                                 "attention bf16 fwd causal 64 2048 2048 128: 143.500 us",
                                 "attention bf16 bwd causal 64 2048 2048 128: 455.500 us",
                                 "collective all_reduce 2 1024: 20.000 us"});
  CHECK(imported.remarks.size() == 1);
}

TEST_CASE("products of all files join, other kernels come from one program") {
  const std::vector<ImportedPoints> files{
      {.format = "one",
       .points = {point("gemm bf16 nt 64 64 64", 10), point("softmax bf16 fwd 64 64", 10)}},
      {.format = "two",
       .points = {point("gemm bf16 nt 64 64 64", 20), point("gemm bf16 nt 64 64 128", 20),
                  point("softmax bf16 fwd 128 64", 20)}}};
  const Calibration found = calibrate::calibrate(files, device());
  CHECK(found.taken[0].points == 2);
  CHECK(found.taken[1].points == 1);
  CHECK(found.taken[1].repeated == 2);
  CHECK(found.measured.series.front().points.front().median.value == doctest::Approx(10e-6));
  CHECK(found.measured.series.front().points.back().source == 1);
}

TEST_CASE("a time that beats the device's peaks is left out") {
  // 2 x 4096^3 at 100 TFLOP/s take 1374 us.
  const std::vector<ImportedPoints> files{{.points = {point("gemm bf16 nt 4096 4096 4096", 1000)}}};
  const Calibration found = calibrate::calibrate(files, device());
  CHECK(found.taken[0].impossible == 1);
  CHECK(found.measured.series.empty());
}
