// Steps of GPT- and BERT-like models that were timed on one and two H200 (PyTorch 2.11, CUDA 13,
// NCCL 2.28.9; eager, bf16 weights and gradients, Adam with fp32 master weights; the median of six
// steps), predicted with the device file of measured kernels. Nothing is fitted to whole steps.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <string>

#include "sim/input/read_scenario.hpp"
#include "sim/report/report.hpp"

using namespace tsim;

namespace {

struct Row {
  const char* model;  // keys of an inline model
  int micro_batch = 1;
  int micro_batches = 1;
  int pipeline = 1;
  double measured_ms = 0;
};

constexpr const char* kBertBase =
    R"("layers": 12, "hidden": 768, "heads": 12, "vocab": 30592, "sequence": 512, "causal": false)";
constexpr const char* kBertLarge =
    R"("layers": 24, "hidden": 1024, "heads": 16, "vocab": 30592, "sequence": 512, "causal": false)";
constexpr const char* kGpt350m =
    R"("layers": 24, "hidden": 1024, "heads": 16, "vocab": 51200, "sequence": 1024)";
constexpr const char* kGpt13b =
    R"("layers": 24, "hidden": 2048, "heads": 16, "vocab": 51200, "sequence": 2048)";

double predicted_ms(const Row& row) {
  const std::string n = std::to_string(row.pipeline);
  const std::string text =
      R"({"model": {"family": "decoder", )" + std::string(row.model) +
      R"(}, "workload": {"dropout": false, "micro_batch": )" + std::to_string(row.micro_batch) +
      R"(, "global_batch": )" + std::to_string(row.micro_batch * row.micro_batches) +
      R"(}, "cluster": {"device": "h200-sxm-141g-measured", "devices_per_node": )" + n +
      (row.pipeline > 1
           ? R"(, "tuning": "nccl-h200-pair", "node": {"kind": "nvswitch", "bandwidth": "478 GB/s", "latency": "0.5 us"})"
           : "") +
      R"(}, "strategy": {"flash_attention": true, "gradient_clipping": false, "layers": "even",
          "p2p": "batched", "pipeline": )" +
      n + R"(}, "precision": {"compute": "bf16", "gradient": "bf16"}})";
  const auto file = sim::read_scenario_text(text, "row", {});
  return summarise(file.base, run_scenario(file.base)).step.value * 1e3;
}

/// |predicted / measured - 1|
double error_of(const Row& row) { return std::abs(predicted_ms(row) / row.measured_ms - 1); }

}  // namespace

TEST_CASE("steps on one H200 that the device bounds: mean error below 6 %, worst below 12 %") {
  const std::array rows{Row{kBertBase, 32, 1, 1, 39.48}, Row{kBertLarge, 32, 1, 1, 92.6},
                        Row{kGpt350m, 16, 1, 1, 101.92}, Row{kGpt13b, 2, 1, 1, 84.97},
                        Row{kGpt13b, 4, 1, 1, 149.74},   Row{kGpt13b, 8, 1, 1, 284.72}};
  double sum = 0;
  for (const Row& row : rows) {
    CAPTURE(row.model);
    CAPTURE(row.micro_batch);
    const double error = error_of(row);
    CHECK(error < 0.12);
    sum += error;
  }
  CHECK(sum / rows.size() < 0.06);
}

TEST_CASE("steps of a pipeline of two H200, whose gradients PyTorch adds up: within 12 %") {
  CHECK(error_of({kGpt13b, 2, 2, 2, 116.13}) < 0.12);
  CHECK(error_of({kGpt13b, 2, 8, 2, 347.15}) < 0.12);
}
