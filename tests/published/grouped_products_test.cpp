// Products of experts measured on an H200: neither device file was fitted to them.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <sstream>
#include <vector>

#include "cost/roofline.hpp"
#include "sim/input/read_device.hpp"

using namespace tsim;

namespace {

struct Measured {
  models::Kernel kernel;
  double microseconds = 0;
};

/// The kernel that makes `pass` of `groups` products of [rows, depth] by [depth, columns].
models::Kernel grouped(std::array<std::int64_t, 4> shape, std::size_t pass) {
  const auto [groups, rows, columns, depth] = shape;
  models::Kernel k;
  k.kind = models::OpKind::grouped_matmul;
  k.cls = models::OpClass::contraction;
  k.dtype = models::DType::bf16;
  k.batch = groups;
  k.flops = Flops{2.0 * static_cast<double>(groups * rows) * static_cast<double>(columns * depth)};
  k.bytes = 2 * groups * (rows * depth + columns * depth + rows * columns) * Bytes{1};
  constexpr std::array kOperands{models::Operands::nt, models::Operands::nn, models::Operands::tn};
  k.operands = kOperands.at(pass);
  k.m = pass == 2 ? depth : rows;
  k.n = pass == 1 ? depth : columns;
  k.k = pass == 0 ? depth : pass == 1 ? columns : rows;
  return k;
}

std::vector<Measured> measured_groups() {
  std::ifstream in(std::string(TSIM_SOURCE_DIR) +
                   "/tests/published/data/h200_grouped_products.txt");
  std::vector<Measured> products;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with('#')) { continue; }
    std::istringstream words(line);
    std::array<std::int64_t, 4> shape{};
    for (std::int64_t& n : shape) { words >> n; }
    for (std::size_t pass = 0; pass < 3; ++pass) {
      Measured p{grouped(shape, pass), 0};
      words >> p.microseconds;
      products.push_back(p);
    }
  }
  return products;
}

}  // namespace

TEST_CASE("products of experts on an H200: median error 5 %, mean 7 %, worst 20 %") {
  for (const char* name : {"h200-sxm-141g", "h200-sxm-141g-measured"}) {
    CAPTURE(name);
    const cost::Device device = sim::read_device(name);
    std::vector<double> errors;
    double sum = 0;
    for (const Measured& p : measured_groups()) {
      if (p.microseconds < 35) { continue; }  // the host bounds them
      const double predicted = kernel_time(p.kernel, device).value * 1e6;
      errors.push_back(std::abs(predicted / p.microseconds - 1));
      sum += errors.back();
    }
    REQUIRE(errors.size() > 45);
    std::sort(errors.begin(), errors.end());
    const double mean = sum / static_cast<double>(errors.size());
    MESSAGE("median " << errors[errors.size() / 2] << ", mean " << mean << ", worst "
                      << errors.back());
    CHECK(errors[errors.size() / 2] < 0.05);
    CHECK(mean < 0.07);
    CHECK(errors.back() < 0.20);
  }
}
