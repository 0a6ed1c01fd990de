#include "sim/input/read_precision.hpp"

#include <doctest/doctest.h>

#include "tests/sim/input/inputs.hpp"

using namespace tsim;
using namespace tsim::sim;
using models::DType;
using strategies::Precision;

namespace {

Precision precision(const std::vector<std::string>& overrides) {
  return read_with(overrides).base.strategy.precision;
}

}  // namespace

TEST_CASE("fp8 products keep bf16 weights with two quantised copies, fp8 weights with one") {
  const Precision wide = precision({"/precision/compute=fp8"});
  CHECK(kept_weights(wide) == DType::bf16);
  CHECK(wide.gradient == DType::bf16);
  CHECK(wide.master_weights);
  CHECK(wide.fp8_copies == 2);
  CHECK(wide.scale_block == 0);
  const Precision narrow = precision(
      {"/precision/compute=fp8", "/precision/weights=fp8", "/precision/fp8_scales=block"});
  CHECK(kept_weights(narrow) == DType::fp8);
  CHECK(narrow.fp8_copies == 1);
  CHECK(narrow.scale_block == 128);
}

TEST_CASE("formats of weights, master copy and a second gradient are taken") {
  const Precision p =
      precision({"/precision/compute=bf16", "/precision/weights=fp32", "/precision/gradient=fp32",
                 "/precision/gradient_copy=bf16", "/precision/master=bf16"});
  CHECK(p.weights == DType::fp32);
  CHECK(p.gradient_copy == DType::bf16);
  CHECK(p.master == DType::bf16);
  CHECK_FALSE(p.master_weights);  // the weights are as wide already
}

TEST_CASE("8-bit Adam has moments of one byte") {
  CHECK(precision({"/strategy/optimizer=adam_8bit"}).moments == DType::int8);
  CHECK(
      problems_with({"/strategy/optimizer=adam_8bit", "/precision/moments=fp32"}) ==
      Texts{
          "/precision/moments: found \"fp32\" (text), expected a format of one byte with optimizer "
          "\"adam_8bit\""});
}

TEST_CASE("what only fp8 has is refused with other formats") {
  CHECK(problems_with({"/precision/compute=bf16", "/precision/fp8_copies=1",
                       "/precision/fp8_scales=block"}) ==
        Texts{"/precision/fp8_copies: found 1, expected nothing unless compute is \"fp8\"",
              "/precision/fp8_scales: found \"block\" (text), expected nothing unless compute is "
              "\"fp8\""});
  CHECK(problems_with({"/precision/compute=fp8", "/precision/fp8_copies=3"}).size() == 1);
}
