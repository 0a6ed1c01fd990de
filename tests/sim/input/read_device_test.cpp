#include "sim/input/read_device.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "cost/roofline.hpp"
#include "sim/input/data_files.hpp"
#include "tests/sim/input/inputs.hpp"

using namespace tsim;
using namespace tsim::sim;
using models::DType;

namespace {

const std::string kFolder = std::string(TSIM_SOURCE_DIR) + "/tests/sim/input/data/devices/";

Texts problems_of(const std::string& file) {
  Problems problems;
  read_device_file(kFolder + file, problems);
  Texts texts;
  for (const InputError& error : problems.errors()) { texts.push_back(to_text(error)); }
  return texts;
}

double teraflops(const char* device, DType dtype) {
  return peak(read_device(device), dtype).value_or(FlopsPerSecond{}).value / 1e12;
}

/// Every figure of a shipped file, that is every value with a digit, stands beside a source.
void check_sources(const Json& json, const std::string& path) {
  CAPTURE(path);
  for (const auto& item : json.items()) {
    const std::string& key = item.key();
    const Json& value = item.value();
    if (key == "name" || key == "description" || key == "notes") { continue; }
    if (key == "measured") { continue; }  // a file whose points have sources of their own
    if (key == "fit") { continue; }       // the record of what fitted figures say: "see fit"
    REQUIRE_MESSAGE(value.is_object(), key, " has no source");
    CHECK_MESSAGE(value.contains("source"), key, " has no source");
    CHECK_MESSAGE(value["source"].get<std::string>().size() > 5, key, " has no source");
  }
}

}  // namespace

TEST_CASE("a figure is written plainly or with its source") {
  const cost::Device device = read_device(kFolder + "plain.json");
  CHECK(device.name == "plain");
  CHECK(device.memory == Bytes{80LL << 30});
  CHECK(device.memory_bandwidth == BytesPerSecond{2e12});
  CHECK(peak(device, DType::bf16) == FlopsPerSecond{300e12});
  CHECK_FALSE(peak(device, DType::fp8).has_value());
  CHECK(device.vector_peak == FlopsPerSecond{20e12});
}

TEST_CASE("what a device file leaves out limits nothing") {
  const cost::Device device = read_device(kFolder + "plain.json");
  CHECK(device.gemm.ceiling == 1.0);
  CHECK(device.elementwise_bandwidth == 1.0);
  CHECK(device.launch == Seconds{});
  CHECK(device.reserved == Bytes{});
}

TEST_CASE("everything wrong with a device file is told under its name") {
  const std::string file = kFolder + "wrong.json: ";
  CHECK(problems_of("wrong.json") ==
        Texts{file + "/name: found nothing, expected a text",
              file + "/memory/source: found nothing, expected a text",
              file + "/memory/sauce: unknown key; hint: did you mean \"source\"?",
              file + "/memory/value: found 80 (a number without a unit), expected a size with its "
                     "unit, such as \"80 GiB\" or \"25 MB\"; hint: \"80 GiB\" or \"80 GB\"",
              file + "/memory_bandwidth: found \"2039 GB\", expected a rate with its unit, such as "
                     "\"25 GB/s\" or \"200 Gb/s\"; hint: did you mean \"2039 GB/s\"?",
              file + "/matrix_peaks/bf16: found \"312 TF\", expected a rate with its unit, such as "
                     "\"312 TFLOP/s\"; hint: did you mean \"312 TFLOP/s\"?",
              file + "/matrix_peaks/fp64: unknown key; hint: did you mean \"fp32\"?",
              file + "/vector_peak: found null, expected a rate with its unit, such as \"312 "
                     "TFLOP/s\"",
              file + "/gemm/ceiling: found 87, expected a number above 0, at most 1",
              file + "/gemm/tile_m: found nothing, expected a whole number >= 1",
              file + "/gemm/tile_n: found nothing, expected a whole number >= 1",
              file + "/gemm/units: found nothing, expected a whole number >= 1",
              file + "/gemm/half_k: found nothing, expected a number from 0 to 1e+06",
              file + "/launch: found \"-1 us\", expected zero or more"});
}

TEST_CASE("a device whose memory is all reserved is refused") {
  CHECK(problems_of("full.json") ==
        Texts{kFolder + "full.json: /reserved: found 1073741824 bytes, expected less than the "
                        "memory"});
}

TEST_CASE("the sparse peak of an H100 is accepted with a warning that names the dense one") {
  Problems problems;
  read_device_file(kFolder + "sparse.json", problems);
  CHECK(problems.empty());
  CHECK(problems.warnings() ==
        Texts{kFolder + "sparse.json: /matrix_peaks/bf16: 1979 TFLOP/s is the H100 SXM fp16/bf16 "
                        "figure for 2:1 sparse matrices; hint: the dense peak is \"989.4 "
                        "TFLOP/s\""});
}

TEST_CASE("every shipped device reads without a problem or a warning, under its own name") {
  for (const std::string& name : names_in("devices", "")) {
    CAPTURE(name);
    Problems problems;
    const std::string path = std::string(TSIM_SOURCE_DIR) + "/scenarios/devices/" + name + ".json";
    const cost::Device device = read_device_file(path, problems);
    CHECK(problems.errors() == std::vector<InputError>{});
    CHECK(problems.warnings() == Texts{});
    CHECK(device.name == name);
    check_sources(*read_json_file(path, problems), name);
  }
}

TEST_CASE("shipped devices are listed in order and have what a simulation needs") {
  const std::vector<cost::Device> devices = list_devices();
  CHECK(devices.size() >= 12);
  CHECK(std::is_sorted(devices.begin(), devices.end(),
                       [](const auto& a, const auto& b) { return a.name < b.name; }));
  for (const cost::Device& d : devices) {
    CAPTURE(d.name);
    CHECK(!d.matrix_peaks.empty());
    CHECK(d.gemm.units > 1);
    CHECK(d.normalization_bandwidth <= d.elementwise_bandwidth);
    for (const cost::PeakRate& p : d.matrix_peaks) { CHECK(p.rate >= d.vector_peak); }
  }
}

TEST_CASE("peaks are the dense ones of the data sheets") {
  CHECK(teraflops("mlu270", DType::int8) == 128);
  CHECK(teraflops("mlu270", DType::int16) == 64);
  CHECK(teraflops("v100-sxm2-32g", DType::fp16) == 125);
  CHECK(teraflops("a100-sxm-80g", DType::bf16) == 312);
  CHECK(teraflops("h100-sxm-80g", DType::bf16) == doctest::Approx(989.4));
  CHECK(teraflops("h200-sxm-141g", DType::fp8) == doctest::Approx(1978.9));
  CHECK(teraflops("b200", DType::bf16) == 2250);
  CHECK(teraflops("ascend910", DType::fp16) == 256);
}

TEST_CASE("the H200's figures give back large products that were measured on one") {
  // PyTorch 2.11, bf16: 4096x12288 k 4096 in 526 us, 8192x32768 k 8192 in 6354 us, 8192x1024 k 512
  // in 18.7 us.  The fit's residual is 7.8 % rms.
  const cost::Device d = read_device("h200-sxm-141g");
  const auto us = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    const double rate = peak(d, DType::bf16)->value * cost::gemm_efficiency(d.gemm, 1, m, n, k);
    return 2.0 * static_cast<double>(m * n * k) / rate * 1e6 + d.launch.value * 1e6;
  };
  CHECK(us(4096, 12288, 4096) == doctest::Approx(526.0).epsilon(0.16));
  CHECK(us(8192, 32768, 8192) == doctest::Approx(6354.0).epsilon(0.16));
  CHECK(us(8192, 1024, 512) == doctest::Approx(18.7).epsilon(0.16));
}

TEST_CASE("a command may name a device that does not exist: it is told which do") {
  CHECK_THROWS_WITH_AS(read_device("h100"), doctest::Contains("did you mean \"h100-sxm-80g\"?"),
                       InputErrors);
  CHECK_THROWS_WITH_AS(read_device("no/such.json"), doctest::Contains("no such file"), InputErrors);
}

TEST_CASE("a device looks times up in the points beside its file") {
  const cost::Device device = read_device(kFolder + "measured.json");
  REQUIRE(device.measured);
  const models::Kernel product{.kind = models::OpKind::matmul,
                               .cls = models::OpClass::contraction,
                               .dtype = DType::bf16,
                               .flops = Flops{2.0 * 512 * 256 * 128},
                               .batch = 1,
                               .m = 512,
                               .n = 256,
                               .k = 128};
  CHECK(kernel_time(product, device).value == doctest::Approx(12.5e-6));
}

TEST_CASE("files of points are no devices") {
  for (const std::string& name : names_in("devices", kFolder + "..")) {
    CAPTURE(name);
    CHECK_FALSE(name.ends_with(".points"));
  }
}
