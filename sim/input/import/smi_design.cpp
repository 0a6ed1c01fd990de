#include "sim/input/import/smi_design.hpp"

#include <algorithm>
#include <set>

#include "sim/input/import/link_rates.hpp"
#include "sim/input/import/machine.hpp"
#include "sim/input/import/pcie_tree.hpp"
#include "sim/input/quantity.hpp"

namespace tsim::sim {
namespace {

/// NVLinks between the matrix's devices.
struct Lanes {
  std::vector<cost::PeerLink> pairs;
  std::set<int> widths;  // lanes of the linked pairs
  int devices = 0;
  int most = 0;  // lanes of one device, all its pairs together

  bool complete() const {
    return static_cast<int>(pairs.size()) == devices * (devices - 1) / 2 && !pairs.empty();
  }
};

Lanes lanes_of(const SmiMatrix& matrix, const std::vector<int>& device_of) {
  Lanes lanes;
  std::vector<int> of_device(matrix.cards.size(), 0);
  for (std::size_t i = 0; i < matrix.cards.size(); ++i) {
    if (device_of[i] >= 0) { ++lanes.devices; }
    for (std::size_t j = i + 1; j < matrix.cards.size(); ++j) {
      const int width = matrix.link(i, j).lanes;
      if (width == 0 || device_of[i] < 0 || device_of[j] < 0) { continue; }
      lanes.pairs.push_back({device_of[i], device_of[j], width});
      lanes.widths.insert(width);
      of_device[i] += width;
      of_device[j] += width;
    }
  }
  lanes.most = *std::ranges::max_element(of_device);
  return lanes;
}

/// The device that a matrix without names suggests: by the number of its NVLinks.
std::string guessed_device(const SmiMatrix& matrix, const Lanes& lanes) {
  if (matrix.cards[0].name.starts_with("NPU")) { return "ascend910"; }
  if (matrix.cards[0].name.starts_with("MLU")) { return "mlu270"; }
  const int widest = lanes.widths.empty() ? 0 : *lanes.widths.rbegin();
  if (widest > 12) { return "h100-sxm-80g"; }
  if (widest == 12 && lanes.devices > 2) { return "a100-sxm-80g"; }
  const bool mesh = lanes.devices > 2 && !lanes.complete() && lanes.most <= 6 && widest <= 2;
  const bool switched = lanes.devices > 4 && lanes.complete() && widest == 6;
  if (widest > 0 && (mesh || switched)) { return "v100-sxm2-32g"; }
  return widest == 4 && lanes.devices == 4 ? "a100-sxm-80g" : "a100-pcie-80g";
}

void link_peers(cost::NodeDesign& node, const Lanes& lanes, const Machine& machine,
                std::vector<std::string>& assumptions) {
  if (lanes.pairs.empty()) { return; }
  constexpr int kMostLanes = 18;  // of any device so far: NVLink 4 and 5
  const int own = machine.rates.nvlink_lanes > 0 ? machine.rates.nvlink_lanes : kMostLanes;
  const BytesPerSecond lane = machine.rates.nvlink_lane;
  if (lanes.most > own && lanes.complete() && lanes.widths.size() == 1) {
    const int width = *lanes.widths.begin();
    node.peers.planes = {nvswitch_plane(width * lane)};
    assumptions.push_back("NVSwitch: every device shows " + std::to_string(width) +
                          " NVLinks to every other, and has " + std::to_string(own) + " at most");
    return;
  }
  if (lanes.most > own) {
    assumptions.push_back(
        "links between pairs, though a device shows more NVLinks than it has (" +
        std::to_string(lanes.most) + " of " + std::to_string(own) +
        "): an NVSwitch that does not join all of them is not modelled, and devices that send to "
        "several at once are too fast");
  }
  node.peers.lane = nvlink_lane(lane);
  node.peers.pairs = lanes.pairs;
}

std::string listed(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) { text += (text.empty() ? "" : ", ") + word; }
  return text;
}

void add_cards(cost::NodeDesign& node, const SmiMatrix& matrix,
               const std::vector<cost::Slot>& slots, const Machine& machine,
               std::vector<std::string>& assumptions) {
  std::vector<std::string> nics;
  for (std::size_t i = 0; i < matrix.cards.size(); ++i) {
    const SmiCard& card = matrix.cards[i];
    if (!card.nic) {
      node.devices.push_back({0, slots[i]});
      continue;
    }
    node.nics.push_back({slots[i], nic_wire(machine.rates.nic), {}});
    nics.push_back(card.alias.empty() ? card.name : card.alias);
  }
  if (nics.empty()) { return; }
  assumptions.push_back("NICs (" + listed(nics) + ") at " + rate_text(machine.rates.nic.value) +
                        " each: " + machine.nic_source);
}

}  // namespace

ImportedCluster cluster_of(const SmiMatrix& matrix, const ImportOptions& options,
                           Problems& problems) {
  ImportedCluster imported;
  imported.format = "topology matrix (topo -m)";
  std::vector<int> device_of;
  int devices = 0;
  for (const SmiCard& card : matrix.cards) { device_of.push_back(card.nic ? -1 : devices++); }
  const Lanes lanes = lanes_of(matrix, device_of);
  const Machine machine =
      machine_of(options, {guessed_device(matrix, lanes), "the matrix does not name them"},
                 imported.assumptions);
  const PcieGroups groups = pcie_groups(matrix, problems);
  const cost::LinkSpec link = pcie_link(machine.pcie);
  PlacedCards placed = place_cards(groups, {link, link});
  cost::NodeDesign node;
  node.host = std::move(placed.host);
  complete_host(node.host, machine, imported.assumptions);
  if (groups.guessed) {
    imported.assumptions.emplace_back(
        "PCIe slots of devices that are linked by NVLink, which hides them: ports of their own at "
        "the host bridge of their NUMA node");
  }
  link_peers(node, lanes, machine, imported.assumptions);
  if (!lanes.pairs.empty()) { imported.assumptions.push_back(machine.nvlink_source); }
  add_cards(node, matrix, placed.slots, machine, imported.assumptions);
  imported.assumptions.push_back(latency_assumption());
  const std::size_t nics = node.nics.size();
  imported.summary = std::to_string(devices) + " devices, " + std::to_string(nics) + " NICs, " +
                     std::to_string(node.host.switches.size()) + " PCIe switches, " +
                     std::to_string(node.host.bridges.size()) + " host bridges";
  imported.cluster = cluster_of_nodes(std::move(node), options, machine, problems);
  return imported;
}

}  // namespace tsim::sim
