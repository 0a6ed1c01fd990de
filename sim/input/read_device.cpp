#include "sim/input/read_device.hpp"

#include <cmath>

#include "sim/input/data_files.hpp"
#include "sim/input/points/read_points.hpp"
#include "sim/input/rules/plausible.hpp"
#include "sim/input/suggest.hpp"
#include "sim/input/truth/read_split.hpp"

namespace tsim::sim {
namespace fs = std::filesystem;
namespace {

constexpr std::array kComputeTypes{models::DType::fp32, models::DType::tf32, models::DType::fp16,
                                   models::DType::bf16, models::DType::fp8,  models::DType::int16,
                                   models::DType::int8};
constexpr RealRange kShare{.least = 0.0, .most = 1.0, .above = true};
constexpr RealRange kHostShare{.least = 0.0, .most = 10.0, .above = true};
constexpr RealRange kSums{.least = 0.0, .most = 100.0, .above = true};
constexpr RealRange kSlowdown{.least = 0.0, .most = 10.0};

/// The value of a figure, written plainly or as {"value": ..., "source": text}.
Place figure(Reader& in, std::string_view key) {
  Place place = in.take(key);
  if (!place.present() || !place.value->is_object()) { return place; }
  Reader inner(place);
  Place value = inner.take("value");
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
  gemm.half_intensity = read_real(in.take("half_intensity"), {.least = 0.0, .most = 1e6}, 0.0);
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
  const auto share = [&](std::string_view key) { return read_real(figure(in, key), kShare, 1.0); };
  device.memory = bytes("memory", {}, false);
  device.memory_bandwidth = {read_quantity(figure(in, "memory_bandwidth"), Dimension::rate)};
  device.matrix_peaks = read_peaks(Reader(in.take("matrix_peaks")));
  device.vector_peak = {read_quantity(figure(in, "vector_peak"), Dimension::compute)};
  const Place gemm = in.take("gemm");
  if (gemm.present()) { device.gemm = read_gemm(Reader(gemm)); }
  device.attention_ceiling = share("attention_ceiling");
  device.sustained = share("sustained");
  device.elementwise_bandwidth = share("elementwise_bandwidth");
  device.optimizer_bandwidth =
      read_real(figure(in, "optimizer_bandwidth"), kShare, device.elementwise_bandwidth);
  device.normalization_bandwidth = share("normalization_bandwidth");
  device.gemm_bandwidth = share("gemm_bandwidth");
  device.sum_bandwidth = read_real(figure(in, "sum_bandwidth"), kSums, 1.0);
  device.launch = time("launch");
  device.host_launch = time("host_launch");
  device.host_backward = read_real(figure(in, "host_backward"), kHostShare, 1.0);
  device.host_collective = time("host_collective");
  device.overlap_slowdown = read_real(figure(in, "overlap_slowdown"), kSlowdown, 0.0);
  device.reserved = bytes("reserved", 0.0, true);
  return device;
}

/// What was timed on the device; relative paths are seen from the device file's folder.
void read_measured(const Place& place, const fs::path& folder, cost::Device& device) {
  if (!place.present()) { return; }
  cost::Measured measured = read_points(place, folder);
  index_points(measured, device);
  device.measured = std::make_shared<const cost::Measured>(std::move(measured));
}

cost::Device read_object(const Place& place, const fs::path& folder) {
  Reader in(place);
  cost::Device device = read_fields(in);
  read_measured(in.take("measured"), folder, device);
  const Place fit = in.take("fit");
  if (fit.present()) { read_fit_record(fit); }
  in.finish();
  if (device.reserved >= device.memory && device.memory.value > 0) {
    in.take("reserved")
        .fail(std::to_string(device.reserved.value) + " bytes", "less than the memory");
  }
  return device;
}

/// The file that the text at `place` names; a problem when there is none.
std::optional<fs::path> device_path(const Place& place, const fs::path& folder) {
  const std::string written = read_text(place);
  if (written.empty()) { return std::nullopt; }
  const bool is_path = looks_like_path(written);
  std::optional<fs::path> path =
      is_path ? find_path(written, folder) : find_named(written, "devices", folder);
  if (path) { return path; }
  const std::vector<std::string> names = names_in("devices", folder);
  const std::vector<std::string_view> views(names.begin(), names.end());
  place.fail(in_quotes(written),
             (is_path ? "the path of a device file or one of " : "one of ") + join(views),
             is_path ? "no such file" : did_you_mean(written, views));
  return std::nullopt;
}

/// The base's figures with those at `place` set over them; groups are merged key by key.
cost::Device read_changed(const Place& place, const fs::path& folder) {
  Problems& problems = *place.source->problems;
  const std::size_t before = problems.errors().size();
  Reader in(place);
  const std::optional<fs::path> path = device_path(in.take("base"), folder);
  if (!path) { return {}; }
  read_device_file(*path, problems);  // what is wrong there is told under the file's name
  if (problems.errors().size() != before) { return {}; }
  Json changes = *place.value;
  changes.erase("base");
  Json merged = with_changes(*read_json_file(*path, problems), changes);
  if (!changes.contains("name")) {
    merged["name"] = merged["name"].get<std::string>() + ", changed";
  }
  return read_object({&merged, place.path, place.source}, path->parent_path());
}

}  // namespace

cost::Device read_device_file(const fs::path& path, Problems& problems) {
  const std::optional<Json> document = read_json_file(path, problems);
  if (!document) { return {}; }
  const Source source{.problems = &problems, .file = path.string()};
  cost::Device device = read_object(Place{&*document, "", &source}, path.parent_path());
  device.path = path.string();
  return device;
}

cost::Device read_device(const Place& place, const fs::path& scenario_folder) {
  if (!place.present() || !place.value->is_object()) {
    const std::optional<fs::path> path = device_path(place, scenario_folder);
    return path ? read_device_file(*path, *place.source->problems) : cost::Device{};
  }
  if (place.value->contains("base")) { return read_changed(place, scenario_folder); }
  return read_object(place, scenario_folder);
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
