// Products measured on an H200 that took no part in any fit: the device file h200-sxm-141g was
// fitted on times of another program (PyTorch) on another day.
#include <doctest/doctest.h>

#include <algorithm>
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

std::vector<Measured> measured_products() {
  std::ifstream in(std::string(TSIM_SOURCE_DIR) + "/tests/published/data/h200_products.txt");
  std::vector<Measured> products;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with('#')) { continue; }
    std::istringstream words(line);
    std::string layout;
    Measured p;
    models::Kernel& k = p.kernel;
    words >> layout >> k.m >> k.n >> k.k >> p.microseconds;
    k.cls = models::OpClass::contraction;
    k.dtype = models::DType::bf16;
    k.batch = 1;
    const auto m = static_cast<double>(k.m);
    const auto n = static_cast<double>(k.n);
    const auto depth = static_cast<double>(k.k);
    k.flops = Flops{2 * m * n * depth};
    k.bytes = 2 * (k.m * k.k + k.n * k.k + k.m * k.n) * Bytes{1};
    products.push_back(p);
  }
  return products;
}

}  // namespace

TEST_CASE("held-out products of an H200: median error 4 %, nine in ten within 11 %") {
  const cost::Device device = sim::read_device("h200-sxm-141g");
  std::vector<double> errors;
  double sum = 0;
  for (const Measured& product : measured_products()) {
    if (product.microseconds < 10) { continue; }  // the start of a kernel is most of it
    const double predicted = kernel_time(product.kernel, device).value * 1e6;
    errors.push_back(std::abs(predicted / product.microseconds - 1));
    sum += predicted / product.microseconds - 1;
  }
  REQUIRE(errors.size() > 700);
  std::sort(errors.begin(), errors.end());
  const auto count = static_cast<double>(errors.size());
  MESSAGE("median " << errors[errors.size() / 2] << ", 90 % below "
                    << errors[errors.size() * 9 / 10] << ", bias " << sum / count);
  CHECK(errors[errors.size() / 2] < 0.04);
  CHECK(errors[errors.size() * 9 / 10] < 0.11);
  CHECK(std::abs(sum / count) < 0.02);
}
