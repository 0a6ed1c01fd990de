#include "sim/input/clusters/write_parts.hpp"

#include "cost/tunings.hpp"
#include "sim/input/data_files.hpp"
#include "sim/input/quantity.hpp"
#include "sim/input/write_cluster.hpp"

namespace tsim::sim {
namespace fs = std::filesystem;
namespace {

std::string rate(BytesPerSecond value) { return quantity_text(value.value, Dimension::rate); }
std::string time(Seconds value) { return quantity_text(value.value, Dimension::time); }
std::string compute(FlopsPerSecond value) { return quantity_text(value.value, Dimension::compute); }
std::string size(Bytes value) { return quantity_text(to_double(value), Dimension::size); }

/// Whether the device is that which its file's name finds wherever tsim runs.
bool comes_with_tsim(const cost::Device& device) {
  if (device.path.empty()) { return false; }
  const fs::path path(device.path);
  const std::string stem = path.stem().string();
  return stem == device.name &&
         path.lexically_normal() ==
             (data_folder() / "devices" / (stem + ".json")).lexically_normal();
}

void set_time(Json& object, const char* key, Seconds value) {
  if (value.value != 0) { object[key] = time(value); }
}

Json to_json(const cost::Regime& regime) {
  Json json{{"protocol", regime.protocol}};
  if (regime.op) { json["op"] = std::string(name_of(*regime.op)); }
  if (!regime.algorithm.empty()) { json["algorithm"] = regime.algorithm; }
  set_time(json, "start", regime.start);
  set_time(json, "step", regime.step);
  set_time(json, "network_step", regime.network_step);
  json["share"] = regime.share;
  if (regime.buffer < cost::kUnlimited) { json["buffer"] = rate(regime.buffer); }
  set_time(json, "least", regime.least);
  return json;
}

}  // namespace

void set_link_keys(Json& object, const cost::LinkSpec& link, bool full_duplex) {
  object["bandwidth"] = link.bandwidth == cost::kUnlimited ? "unlimited" : rate(link.bandwidth);
  object["latency"] = time(link.latency);
  if (link.full_duplex != full_duplex) { object["duplex"] = link.full_duplex ? "full" : "half"; }
  if (link.lanes != 1) { object["lanes"] = link.lanes; }
}

Json link_json(const cost::LinkSpec& link, bool full_duplex) {
  Json object = Json::object();
  set_link_keys(object, link, full_duplex);
  return object;
}

Json to_json(const cost::Tuning& tuning) {
  if (cost::tuning_named(tuning.name) == tuning) { return tuning.name; }
  Json json = Json::object();
  if (!tuning.name.empty()) { json["name"] = tuning.name; }
  if (!tuning.source.empty()) { json["source"] = tuning.source; }
  json["regimes"] = Json::array();
  for (const cost::Regime& regime : tuning.regimes) { json["regimes"].push_back(to_json(regime)); }
  return json;
}

Json to_json(const cost::Device& device) {
  if (comes_with_tsim(device)) { return device.name; }
  Json peaks = Json::object();
  for (const cost::PeakRate& peak : device.matrix_peaks) {
    peaks[std::string(name_of(peak.dtype))] = compute(peak.rate);
  }
  const cost::GemmEfficiency& gemm = device.gemm;
  return {{"name", device.name},
          {"description", device.description},
          {"memory", size(device.memory)},
          {"memory_bandwidth", rate(device.memory_bandwidth)},
          {"matrix_peaks", std::move(peaks)},
          {"vector_peak", compute(device.vector_peak)},
          {"gemm",
           {{"ceiling", gemm.ceiling},
            {"tile_m", gemm.tile_m},
            {"tile_n", gemm.tile_n},
            {"half_intensity", gemm.half_intensity},
            {"units", gemm.units},
            {"half_k", gemm.half_k}}},
          {"attention_ceiling", device.attention_ceiling},
          {"sustained", device.sustained},
          {"elementwise_bandwidth", device.elementwise_bandwidth},
          {"optimizer_bandwidth", device.optimizer_bandwidth > 0 ? device.optimizer_bandwidth
                                                                 : device.elementwise_bandwidth},
          {"normalization_bandwidth", device.normalization_bandwidth},
          {"gemm_bandwidth", device.gemm_bandwidth},
          {"sum_bandwidth", device.sum_bandwidth},
          {"launch", time(device.launch)},
          {"host_launch", time(device.host_launch)},
          {"host_backward", device.host_backward},
          {"host_collective", time(device.host_collective)},
          {"overlap_slowdown", device.overlap_slowdown},
          {"reserved", size(device.reserved)}};
}

void set_common_keys(Json& object, const std::string& name,
                     const std::vector<cost::Device>& devices, const cost::Tuning& tuning) {
  if (!name.empty()) { object["name"] = name; }
  if (devices.size() == 1) {
    object["device"] = to_json(devices[0]);
  } else {
    object["kinds"] = Json::array();
    for (const cost::Device& device : devices) { object["kinds"].push_back(to_json(device)); }
  }
  if (tuning != cost::Tuning{}) { object["tuning"] = to_json(tuning); }
}

}  // namespace tsim::sim
