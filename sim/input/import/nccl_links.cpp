#include "sim/input/import/nccl_links.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "sim/input/suggest.hpp"

namespace tsim::sim {
namespace {

struct KnownGpu {
  std::string_view id, device;
};

// PCI device numbers of vendor 0x10de  [pci-ids.ucw.cz].
constexpr std::array kPciDevices{
    KnownGpu{"0x1db1", "v100-sxm2-16g"}, KnownGpu{"0x1db5", "v100-sxm2-32g"},
    KnownGpu{"0x1db8", "v100-sxm2-32g"}, KnownGpu{"0x20b0", "a100-sxm-40g"},
    KnownGpu{"0x20b2", "a100-sxm-80g"},  KnownGpu{"0x20f1", "a100-pcie-40g"},
    KnownGpu{"0x20b5", "a100-pcie-80g"}, KnownGpu{"0x2330", "h100-sxm-80g"},
    KnownGpu{"0x2335", "h200-sxm-141g"}, KnownGpu{"0x2901", "b200"}};

// Compute capabilities.
constexpr std::array kCapabilities{KnownGpu{"70", "v100-sxm2-32g"}, KnownGpu{"80", "a100-sxm-80g"},
                                   KnownGpu{"90", "h100-sxm-80g"}, KnownGpu{"100", "b200"}};

std::string_view device_of(std::span<const KnownGpu> known, std::string_view id) {
  const auto found = std::ranges::find(known, id, &KnownGpu::id);
  return found == known.end() ? std::string_view{} : found->device;
}

}  // namespace

DeviceGuess guessed_gpu(const XmlElement& pci, const XmlElement* gpu) {
  const std::string_view id = pci.text("device");
  if (const auto device = device_of(kPciDevices, id); !device.empty()) {
    return {std::string(device), "PCI device " + std::string(id) + " is one"};
  }
  const std::string_view sm = gpu == nullptr ? std::string_view{} : gpu->text("sm");
  const bool amd = gpu != nullptr && gpu->find("gcn") != nullptr;
  if (const auto device = device_of(kCapabilities, sm); !amd && !device.empty()) {
    return {std::string(device), "compute capability sm " + std::string(sm) + " suggests"};
  }
  if (amd) {
    return {"a100-sxm-80g",
            "AMD gcn " + std::string(gpu->text("gcn")) + " has no device file: a stand-in",
            "mi250"};
  }
  const std::string_view speed = pci.text("link_speed");
  if (speed.starts_with("32")) { return {"h100-sxm-80g", "PCIe of 32 GT/s suggests"}; }
  if (speed.starts_with("16")) { return {"a100-sxm-80g", "PCIe of 16 GT/s suggests"}; }
  return {"a100-pcie-80g", "the file does not say what they are"};
}

void NcclLinks::add_gpu(const XmlElement& pci, const XmlElement* gpu, int number,
                        Problems& problems) {
  const XmlAttributes of_pci(pci, problems);
  const std::string busid = of_pci.required("busid");
  if (!numbers_.try_emplace(busid, number).second) {
    of_pci.fail("busid", in_quotes(busid) + " twice", "each bus number once");
  }
  if (gpu == nullptr) { return; }
  described_ = true;
  for (const XmlElement& link : gpu->children) {
    if (link.name != "nvlink" && link.name != "xgmi") { continue; }
    const XmlAttributes attributes(link, problems);
    const int count = attributes.integer("count", 1);
    if (count < 1 || count > 64) {
      attributes.fail("count", std::to_string(count), "1 to 64 links");
    }
    bundles_.push_back({number, attributes.required("target"), std::string(link.text("tclass")),
                        std::clamp(count, 1, 64), link.place});
  }
}

NcclLinks::Wired NcclLinks::sort(std::vector<std::string>& assumptions) const {
  Wired wired;
  std::string selves;
  std::map<std::pair<int, int>, int> seen;  // by ordered pair: a link is named from either end or
                                            // from both
  for (const Bundle& bundle : bundles_) {
    const auto gpu = numbers_.find(bundle.target);
    if (gpu == numbers_.end()) {
      if (bundle.kind.starts_with("0x068000") || bundle.kind.empty()) {
        wired.switched[bundle.from][bundle.target] += bundle.count;
      } else {
        assumptions.push_back("link to " + in_quotes(bundle.target) + " of class " +
                              in_quotes(bundle.kind) + " (" + bundle.place + ") is left out");
      }
      continue;
    }
    if (gpu->second == bundle.from) {
      selves += (selves.empty() ? "" : ", ") + bundle.target;
      continue;
    }
    seen[{bundle.from, gpu->second}] += bundle.count;
  }
  if (!selves.empty()) {
    assumptions.push_back("NVLinks that lead from a GPU to itself are left out, as NCCL does: " +
                          selves);
  }
  for (const auto& [ends, lanes] : seen) {
    const std::pair<int, int> pair = std::minmax(ends.first, ends.second);
    wired.lanes[pair] = std::max(wired.lanes[pair], lanes);
  }
  return wired;
}

void NcclLinks::wire_planes(cost::NodeDesign& node, const Wired& wired, const Machine& machine,
                            std::vector<std::string>& assumptions) {
  int least = 0, most = 0;
  std::size_t switches = 0;
  for (const auto& [gpu, targets] : wired.switched) {
    int lanes = 0;
    for (const auto& [target, count] : targets) { lanes += count; }
    least = least == 0 ? lanes : std::min(least, lanes);
    most = std::max(most, lanes);
    switches = std::max(switches, targets.size());
  }
  if (wired.switched.size() < node.devices.size()) {
    assumptions.push_back("NVSwitch: only " + std::to_string(wired.switched.size()) + " of " +
                          std::to_string(node.devices.size()) +
                          " GPUs name links to it; all are joined");
  }
  if (least != most) {
    assumptions.push_back("NVSwitch: GPUs have " + std::to_string(least) + " to " +
                          std::to_string(most) + " links; all are given " + std::to_string(least));
  }
  node.peers.planes = {nvswitch_plane(least * machine.rates.nvlink_lane)};
  assumptions.push_back("NVSwitch: " + std::to_string(least) + " NVLinks of every GPU over " +
                        std::to_string(switches) + " switches, as one");
}

void NcclLinks::wire(cost::NodeDesign& node, const Machine& machine,
                     std::vector<std::string>& assumptions) {
  const Wired wired = sort(assumptions);
  if (!wired.switched.empty()) { wire_planes(node, wired, machine, assumptions); }
  for (const auto& [pair, lanes] : wired.lanes) {
    node.peers.pairs.push_back({pair.first, pair.second, lanes});
  }
  if (!wired.lanes.empty()) { node.peers.lane = nvlink_lane(machine.rates.nvlink_lane); }
  const bool board = machine.device.name.find("-sxm-") != std::string::npos &&
                     machine.rates.nvlink_lanes > 0 && node.devices.size() > 1;
  if (!described_ && board) {
    const int lanes = machine.rates.nvlink_lanes;
    node.peers.planes = {nvswitch_plane(lanes * machine.rates.nvlink_lane)};
    assumptions.push_back(
        "NVSwitch: the file leaves out the GPUs' NVLinks, which NCCL finds by "
        "itself; " +
        std::to_string(lanes) + " of every GPU, as " + machine.device.name + " has them");
  }
  if (!node.peers.planes.empty() || !node.peers.pairs.empty()) {
    assumptions.push_back(machine.nvlink_source);
  }
}

}  // namespace tsim::sim
