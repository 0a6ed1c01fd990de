#include "sim/input/read_device.hpp"

#include <cmath>

#include "sim/input/data_files.hpp"
#include "sim/input/plausible.hpp"
#include "sim/input/suggest.hpp"

namespace tsim::sim {
namespace fs = std::filesystem;
namespace {

constexpr std::array kComputeTypes{models::DType::fp32, models::DType::tf32,  models::DType::fp16,
                                   models::DType::bf16, models::DType::fp8,   models::DType::int16,
                                   models::DType::int8};
constexpr RealRange kShare{.least = 0.0, .most = 1.0, .above = true};

/// The value of a figure, written plainly or as {"value": ..., "source": text}.
Place figure(Reader& in, std::string_view key) {
  const Place place = in.take(key);
  if (!place.present() || !place.value->is_object()) { return place; }
  Reader inner(place);
  const Place value = inner.take("value");
  read_text(inner.take("source"));
  inner.finish();
  return value;
}

std::vector<cost::PeakRate> read_peaks(Reader in) {
  std::vector<cost::PeakRate> peaks;
  read_text(in.take("source"), "");
  for (const models::DType dtype : kComputeTypes) {
    const Place place = in.take(models::name_of(dtype));
    if (!place.present()) { continue; }
    peaks.push_back({dtype, {read_quantity(place, Dimension::compute)}});
    warn_if_sparse(place, dtype, peaks.back().rate);
  }
  in.finish();
  return peaks;
}

cost::GemmEfficiency read_gemm(Reader in) {
  cost::GemmEfficiency gemm;
  read_text(in.take("source"), "");
  gemm.ceiling = read_real(in.take("ceiling"), kShare);
  gemm.tile_m = static_cast<int>(read_count(in.take("tile_m"), {1, 65536}));
  gemm.tile_n = static_cast<int>(read_count(in.take("tile_n"), {1, 65536}));
  gemm.units = static_cast<int>(read_count(in.take("units"), {1, 1'000'000}));
  gemm.half_k = read_real(in.take("half_k"), {.least = 0.0, .most = 1e6});
  in.finish();
  return gemm;
}

cost::Device read_fields(Reader& in) {
  cost::Device device;
  device.name = read_text(in.take("name"));
  device.description = read_text(in.take("description"), device.name);
  read_text(in.take("notes"), "");
  const auto bytes = [&](std::string_view key, std::optional<double> fallback, bool zero) {
    return Bytes{std::llround(read_quantity(figure(in, key), Dimension::size, fallback, zero))};
  };
  const auto time = [&](std::string_view key) {
    return Seconds{read_quantity(figure(in, key), Dimension::time, 0.0, true)};
  };
  const auto share = [&](std::string_view key) {
    return read_real(figure(in, key), kShare, 1.0);
  };
  device.memory = bytes("memory", {}, false);
  device.memory_bandwidth = {read_quantity(figure(in, "memory_bandwidth"), Dimension::rate)};
  device.matrix_peaks = read_peaks(Reader(in.take("matrix_peaks")));
  device.vector_peak = {read_quantity(figure(in, "vector_peak"), Dimension::compute)};
  const Place gemm = in.take("gemm");
  if (gemm.present()) { device.gemm = read_gemm(Reader(gemm)); }
  device.attention_ceiling = share("attention_ceiling");
  device.elementwise_bandwidth = share("elementwise_bandwidth");
  device.normalization_bandwidth = share("normalization_bandwidth");
  device.gemm_bandwidth = share("gemm_bandwidth");
  device.launch = time("launch");
  device.host_launch = time("host_launch");
  device.reserved = bytes("reserved", 0.0, true);
  return device;
}

}  // namespace

cost::Device read_device_file(const fs::path& path, Problems& problems) {
  const std::optional<Json> document = read_json_file(path, problems);
  if (!document) { return {}; }
  const Source source{.problems = &problems, .file = path.string()};
  Reader in(Place{&*document, "", &source});
  cost::Device device = read_fields(in);
  in.finish();
  device.path = path.string();
  if (device.reserved >= device.memory && device.memory.value > 0) {
    problems.add({.path = "/reserved",
                  .found = std::to_string(device.reserved.value) + " bytes",
                  .expected = "less than the memory",
                  .hint = {},
                  .file = path.string()});
  }
  return device;
}

cost::Device read_device(const Place& place, const fs::path& scenario_folder) {
  const std::string written = read_text(place);
  if (written.empty()) { return {}; }
  const bool is_path = looks_like_path(written);
  const std::optional<fs::path> path = is_path ? find_path(written, scenario_folder)
                                               : find_named(written, "devices", scenario_folder);
  if (path) { return read_device_file(*path, *place.source->problems); }
  const std::vector<std::string> names = names_in("devices", scenario_folder);
  const std::vector<std::string_view> views(names.begin(), names.end());
  if (is_path) {
    place.fail(in_quotes(written), "the path of a device file or one of " + join(views),
               "no such file");
  } else {
    place.fail(in_quotes(written), "one of " + join(views), did_you_mean(written, views));
  }
  return {};
}

cost::Device read_device(std::string_view name_or_path) {
  Problems problems;
  const Source source{.problems = &problems};
  const Json text = std::string(name_or_path);
  cost::Device device = read_device(Place{&text, "", &source}, fs::path());
  if (!problems.empty()) { throw InputErrors(std::string(name_or_path), problems.errors()); }
  return device;
}

std::vector<cost::Device> list_devices() {
  Problems problems;
  std::vector<cost::Device> devices;
  for (const std::string& name : names_in("devices", fs::path())) {
    devices.push_back(read_device_file(*find_named(name, "devices", fs::path()), problems));
  }
  if (!problems.empty()) { throw InputErrors("devices", problems.errors()); }
  return devices;
}

}  // namespace tsim::sim
