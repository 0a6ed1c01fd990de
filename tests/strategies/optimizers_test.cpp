#include "strategies/optimizers.hpp"

#include <doctest/doctest.h>

#include <array>

#include "models/registry.hpp"
#include "strategies/memory.hpp"
#include "strategies/shard.hpp"

using namespace tsim;
using namespace tsim::strategies;
using models::DType;

namespace {

Strategy with(Optimizer optimizer,
              const Precision& precision = {.compute = DType::bf16, .gradient = DType::bf16}) {
  Strategy s;
  s.optimizer = optimizer;
  s.precision = precision;
  s.gradient_clipping = false;
  return s;
}

/// One product of 4096 x 1024, a table of 1000 x 1024 and 3072 elements of vectors.
Weights sample_weights() {
  return {.elements = 4096 * 1024 + 1000 * 1024 + 3072,
          .shapes = {.products = {{4096, 1024}}, .tables = {{1000, 1024}}}};
}

std::int64_t moments(Optimizer optimizer) {
  Strategy s = with(optimizer);
  s.precision.master_weights = false;
  s.precision.moments = optimizer == Optimizer::adam_8bit ? DType::int8 : DType::fp32;
  return optimizer_bytes(sample_weights(), s).value;
}

models::Block layer_of(std::string_view name) {
  const auto config = models::model_named(name).value();
  const models::Model model = build_model(config, {.micro_batch = 1, .compute = DType::bf16});
  return model.blocks[1];
}

}  // namespace

TEST_CASE("a GPT layer has four products, whose two sides are the summed and the other axes") {
  // gpt2: hidden 768. qkv 768 x 2304, output 768 x 768, MLP 768 x 3072 and 3072 x 768.
  const WeightShapes shapes = weight_shapes(layer_of("gpt2").graph);
  CHECK(shapes.products ==
        std::vector<Matrix>{{768, 2304, 1}, {768, 768, 1}, {768, 3072, 1}, {3072, 768, 1}});
  CHECK(shapes.tables.empty());
  CHECK(elements(shapes.products) == 12 * 768 * 768);
}

TEST_CASE("embeddings of words and positions and the head are tables") {
  const auto config = models::model_named("gpt2").value();
  const models::Model model = build_model(config, {.micro_batch = 1, .compute = DType::bf16});
  const models::OpGraph& first = model.blocks.front().graph;
  CHECK(weight_shapes(first).tables == std::vector<Matrix>{{1024, 768, 1}});
  CHECK(word_embedding(first) == std::vector<Matrix>{{50257, 768, 1}});
  CHECK(elements(word_embedding(model.blocks.back().graph)) == 50257 * 768);
}

TEST_CASE("tensor parallelism cuts the side that it splits") {
  const auto graph = shard(layer_of("gpt2").graph, {.tensor = 4, .heads = 12, .kv_heads = 12});
  CHECK(weight_shapes(graph).products ==
        std::vector<Matrix>{{768, 576, 1}, {192, 768, 1}, {768, 768, 2}});
}

TEST_CASE("moments: Adam 2, momentum 1, SGD none, each fp32") {
  const std::int64_t n = sample_weights().elements;
  CHECK(moments(Optimizer::adam) == 8 * n);
  CHECK(moments(Optimizer::adamw) == 8 * n);
  CHECK(moments(Optimizer::lamb) == 8 * n);
  CHECK(moments(Optimizer::sgd_momentum) == 4 * n);
  CHECK(moments(Optimizer::sgd) == 0);
}

TEST_CASE("Adafactor keeps the rows and columns of matrices and every element of vectors") {
  // arXiv:1804.04235, sec. 3: n + m in place of n m.
  CHECK(moments(Optimizer::adafactor) == 4 * ((4096 + 1024) + (1000 + 1024) + 3072));
}

TEST_CASE("8-bit Adam keeps two bytes a parameter and an fp32 scale for each 2048 of each moment") {
  const std::int64_t n = sample_weights().elements;
  CHECK(moments(Optimizer::adam_8bit) == 2 * n + 2 * 4 * ((n + 2047) / 2048));
  // arXiv:2110.02861, sec. 2: 2 bytes in place of 8.
  CHECK(static_cast<double>(moments(Optimizer::adam_8bit)) / static_cast<double>(n) ==
        doctest::Approx(2.004).epsilon(1e-3));
}

TEST_CASE("Muon keeps one moment of products and Adam's two of everything else") {
  CHECK(moments(Optimizer::muon) == 4 * 4096 * 1024 + 8 * (1000 * 1024 + 3072));
}

TEST_CASE("bytes a parameter by format and optimizer") {
  struct Row {
    Precision precision;
    Optimizer optimizer;
    double expected;
  };
  const DType bf16 = DType::bf16;
  const DType fp32 = DType::fp32;
  // Weights + gradients + (master + moments), no shapes: as of vectors.
  const std::array rows{
      Row{{fp32, fp32, false}, Optimizer::adam, 4 + 4 + 8},
      Row{{DType::fp16, DType::fp16, true}, Optimizer::adam, 2 + 2 + 4 + 8},
      Row{{bf16, bf16, true}, Optimizer::adamw, 2 + 2 + 4 + 8},
      Row{{bf16, fp32, true}, Optimizer::adam, 2 + 4 + 4 + 8},
      Row{{bf16, fp32, true}, Optimizer::sgd, 2 + 4 + 4},
      Row{{bf16, fp32, true}, Optimizer::sgd_momentum, 2 + 4 + 4 + 4},
      Row{{bf16, bf16, false, bf16}, Optimizer::adam, 2 + 2 + 4},  // all in bf16
      Row{{.compute = bf16, .gradient = fp32, .gradient_copy = bf16},
          Optimizer::adam,
          2 + 4 + 2 + 4 + 8},  // 16-bit and fp32 gradients: maxtext issue 606, (iv)
      Row{{.compute = bf16, .gradient = bf16, .master = bf16}, Optimizer::lamb, 2 + 2 + 2 + 8},
      // DeepSeek-V3: bf16 moments, fp32 master and gradients [arXiv:2412.19437, sec. 3.3].
      Row{{.compute = DType::fp8, .gradient = fp32, .moments = bf16},
          Optimizer::adamw,
          2 + 4 + 4 + 4},
  };
  for (const Row& row : rows) {
    const StateBytes b = state_bytes(1 << 20, with(row.optimizer, row.precision));
    CAPTURE(name_of(row.optimizer));
    CAPTURE(row.expected);
    CHECK(to_double(b.parameters + b.gradients + b.optimizer) / (1 << 20) == row.expected);
  }
}

TEST_CASE("6.7e9 parameters with 16-bit and fp32 gradients take 134.0 GB") {
  const Precision both{
      .compute = DType::bf16, .gradient = DType::fp32, .gradient_copy = DType::bf16};
  const StateBytes b = state_bytes(6'700'000'000, with(Optimizer::adam, both));
  CHECK(to_double(b.parameters + b.gradients + b.optimizer) / 1e9 == doctest::Approx(134.0));
}

TEST_CASE("fp8 copies cost a byte of a product's weight each, and scales") {
  Precision p{.compute = DType::fp8};
  const Weights w = sample_weights();
  CHECK(kept_weights(p) == DType::bf16);
  p.fp8_copies = 2;
  p.scale_block = 128;
  const std::int64_t product = 4096 * 1024;
  CHECK(parameter_bytes(w, p).value == 2 * w.elements + 2 * product + 2 * 4 * (32 * 8));
  p.weights = DType::fp8;  // and its transpose
  p.fp8_copies = 1;
  CHECK(parameter_bytes(w, p).value == w.elements + product + 4 * (32 * 8));
  // Delayed scaling: of input, weight and output gradient a scale, its inverse, 1024 maxima.
  p.scale_block = 0;
  CHECK(parameter_bytes(w, p).value == w.elements + product + 3 * 1026 * 4);
}

TEST_CASE("an optimizer step moves gradients by passes, states twice and the weight once") {
  const auto moved = [](const Strategy& s) {
    return optimizer_traffic({.elements = 1000}, s).value;
  };
  // 2 x 2 (read, cleared) + 2 x 12 + 2.
  // Beside all of these, the gradient is written and read again in fp32, and the master weight read
  // for its copy.
  constexpr int kCopies = (2 * 4 + 4) * 1000;
  CHECK(moved(with(Optimizer::adam)) == 30'000 + kCopies);
  // LAMB writes and reads twice its update in the gradient's place and reads the master twice more.
  CHECK(moved(with(Optimizer::lamb)) == 30'000 + 3 * 2'000 + 2 * 4'000 + kCopies);
  CHECK(moved(with(Optimizer::sgd)) == (4 + 2 * 4 + 2) * 1000 + kCopies);
}

TEST_CASE("Muon's five iterations take 4 a^2 b + 2 a^3 each on a matrix a x b") {
  const double a = 1024;
  const double b = 4096;
  CHECK(muon_flops(sample_weights()).value == doctest::Approx(5 * (4 * a * a * b + 2 * a * a * a)));
  Weights tall = sample_weights();
  tall.shapes.products = {{1024, 4096}};
  CHECK(muon_flops(tall).value == muon_flops(sample_weights()).value);
}

TEST_CASE("Muon's step takes its products' time beside momentum's traffic") {
  cost::Device d;
  d.memory_bandwidth = BytesPerSecond{1e30};  // traffic costs nothing
  d.matrix_peaks = {{DType::bf16, FlopsPerSecond{1e12}}};
  d.vector_peak = FlopsPerSecond{1e12};
  d.gemm = {.ceiling = 1.0, .tile_m = 1, .tile_n = 1, .units = 1, .half_k = 0};
  const Weights w = sample_weights();
  CHECK(optimizer_time(w, with(Optimizer::muon), d).value ==
        doctest::Approx(muon_flops(w).value / 1e12));
}

TEST_CASE("of ten equal matrices a quarter of the replicas orthogonalise three at most") {
  Weights w = sample_weights();
  w.shapes.products.front().count = 10;
  CHECK(muon_flops(share_of(w, 4)).value / muon_flops(w).value == doctest::Approx(0.3));
  CHECK(own_elements(share_of(w, 4)) == (w.elements + 3) / 4);
  CHECK(own_elements(share_of(w, 1)) == w.elements);
}

TEST_CASE("what every optimizer keeps is divided by the shards") {
  for (const Optimizer optimizer :
       {Optimizer::adam, Optimizer::adafactor, Optimizer::adam_8bit, Optimizer::muon}) {
    CAPTURE(name_of(optimizer));
    const Strategy s = with(optimizer);
    const double whole = to_double(optimizer_bytes(sample_weights(), s));
    const double share = to_double(optimizer_bytes(share_of(sample_weights(), 8), s));
    CHECK(share == doctest::Approx(whole / 8).epsilon(1e-5));
  }
}
