#include "sim/calibrate/check/check_stack.hpp"

#include <doctest/doctest.h>

#include <fstream>

#include "sim/calibrate/check/tsim_measure.hpp"
#include "sim/input/read_scenario.hpp"

using namespace tsim;
using namespace tsim::calibrate;

namespace {

std::string scenario(const std::string& strategy, const std::string& model = "") {
  return R"({"model": {"family": "decoder", "layers": 2, "hidden": 64, "heads": 2, "vocab": 96,
    "sequence": 16)" +
         model + R"(}, "workload": {"dropout": false, "micro_batch": 2, "global_batch": 4},
    "cluster": {"device": "cpu", "devices_per_node": 2,
                "node": {"kind": "pcie", "bandwidth": "10 GB/s", "latency": "5 us"}},
    "strategy": {)" +
         strategy + R"(}, "precision": {"compute": "fp32"}})";
}

sim::Scenario read(const std::string& text) {
  return sim::read_scenario_text(text, "check", {}).base;
}

constexpr const char* kReplicas = R"("data": 2, "gradient_clipping": false)";

}  // namespace

TEST_CASE("a scenario's stack has its dimensions") {
  sim::Problems problems;
  const StackShape shape = stack_of(read(scenario(kReplicas)), problems);
  CHECK(problems.empty());
  CHECK(shape == StackShape{.layers = 2,
                            .hidden = 64,
                            .heads = 2,
                            .ffn = 256,
                            .vocab = 96,
                            .sequence = 16,
                            .batch = 2,
                            .data = 2,
                            .dtype = "fp32"});
}

TEST_CASE("what a stack cannot be is refused, all of it at once") {
  sim::Problems problems;
  stack_of(read(scenario(R"("tensor": 2, "recompute": "full")", R"(, "activation": "relu")")),
           problems);
  // Another activation, two micro-batches without a pipeline, recomputation, sums over tensor ranks
  // beside products, and a vocabulary in parts.
  CHECK(problems.errors().size() == 5);
}

TEST_CASE("tensor ranks, stages and experts are a stack's, too") {
  sim::Problems problems;
  const std::string whole = R"(, "overlap_tensor": false, "vocabulary_parallel": false,
                               "gradient_clipping": false)";
  StackShape shape = stack_of(read(scenario(R"("tensor": 2, "gradient_accumulation": "eager",
    "pipeline": 1)" + whole)),
                              problems);
  CHECK(problems.errors().size() == 1);  // two micro-batches
  problems = {};
  shape = stack_of(read(scenario(R"("pipeline": 2, "gradient_accumulation": "eager")")), problems);
  CHECK(problems.empty());
  CHECK(shape.pipeline == 2);
  CHECK(shape.micro_batches == 2);
  CHECK(shape.devices() == 2);
  problems = {};
  shape = stack_of(read(scenario(R"("data": 2, "expert": 2)", R"(, "moe": {"experts": 8, "top_k": 2,
    "ffn": 128, "normalise_top_k": false})")),
                   problems);
  CHECK(problems.empty());
  CHECK(shape.experts == 8);
  CHECK(shape.top_k == 2);
  CHECK(shape.ffn == 128);
  CHECK(shape.expert_ranks == 2);
  CHECK(shape.local_experts() == 4);
  CHECK(shape.expert_rows() == 2 * 16 * 2 * 2 / 8);  // of both ranks' 32 tokens, two copies each
}

TEST_CASE("a stack of several stages is compared by its step and its memory alone") {
  sim::Report report;
  report.stages.resize(2);
  report.lookups = {{.subject = cost::subject_of("adam 8"), .time = Seconds{1}}};
  CHECK(compare(report, {}).classes.empty());
}

TEST_CASE("a measured stack is read back, and another file is not taken for one") {
  const StackShape shape{
      .layers = 2, .hidden = 64, .heads = 2, .ffn = 256, .vocab = 96, .sequence = 16, .batch = 2};
  StackTimes times{.step = 3e-3, .memory = 1e9, .first_loss = 5, .last_loss = 4, .steps = 12};
  times.classes[0] = 2e-3;
  const TemporaryFile good(stack_line(shape, times, R"("device":"NVIDIA H200")"));
  sim::Problems problems;
  const MeasuredStack measured = read_measured_stack(good.path(), problems);
  CHECK(problems.empty());
  CHECK(measured.shape == shape);
  CHECK(measured.times.step == doctest::Approx(3e-3));
  CHECK(measured.times.classes[0] == doctest::Approx(2e-3));
  CHECK(measured.times.memory == doctest::Approx(1e9));
  CHECK(measured.device == "NVIDIA H200");
  const TemporaryFile other(R"({"tsim":"check 2"})");
  read_measured_stack(other.path(), problems);
  CHECK(problems.errors().size() == 1);
}

TEST_CASE("lookups are added up by class, and errors are shares of what was measured") {
  sim::Report report;
  report.step = Seconds{1.1};
  report.needed = Bytes{90};
  report.stages.resize(1);
  const auto lookup = [](const char* line, double time) {
    return sim::Lookup{.subject = cost::subject_of(line), .time = Seconds{time}};
  };
  report.lookups = {lookup("gemm bf16 nt 8 8 8", 0.5),
                    lookup("gemm bf16 tn 8 8 8", 0.25),
                    lookup("softmax bf16 fwd 8 8", 0.125),
                    lookup("adam 8", 0.0625),
                    {.kernel = "experts.fc1", .time = Seconds{0.25}, .is_product = true}};
  StackTimes times{.step = 1.0, .memory = 100};
  times.classes[static_cast<std::size_t>(StackClass::products)] = 0.5;
  const Check check = compare(report, times);
  REQUIRE(check.classes.size() == 3);
  CHECK(check.classes[0].what == "products");
  CHECK(*check.classes[0].error() == doctest::Approx(1.0));  // 1 s for half a one
  CHECK(check.classes[1].what == "attention");
  CHECK_FALSE(check.classes[1].error());
  CHECK(check.classes[2].what == "optimizer");
  CHECK(*check.step.error() == doctest::Approx(0.1));
  CHECK(*check.memory.error() == doctest::Approx(-0.1));
}
