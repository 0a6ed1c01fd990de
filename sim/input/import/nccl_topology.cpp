#include "sim/input/import/nccl_topology.hpp"

#include <algorithm>
#include <charconv>
#include <climits>

#include "sim/input/import/machine.hpp"
#include "sim/input/import/nccl_links.hpp"
#include "sim/input/quantity.hpp"
#include "sim/input/suggest.hpp"

namespace tsim::sim {
namespace {

enum class PciKind : std::uint8_t { bridge, device, nic, drive, unclassified, other };

const XmlElement* child_named(const XmlElement& element, std::string_view name) {
  const auto found = std::ranges::find(element.children, name, &XmlElement::name);
  return found == element.children.end() ? nullptr : &*found;
}

/// By what it contains, else by the PCI class code: 0x0604 bridges, 0x03 displays and 0x12
/// accelerators, 0x02 network controllers, 0x0108 NVMe.
PciKind kind_of(const XmlElement& pci) {
  if (child_named(pci, "gpu") != nullptr) { return PciKind::device; }
  if (child_named(pci, "nic") != nullptr) { return PciKind::nic; }
  if (child_named(pci, "pci") != nullptr) { return PciKind::bridge; }
  const std::string_view code = pci.text("class");
  if (code.empty()) { return PciKind::unclassified; }
  if (code.starts_with("0x03") || code.starts_with("0x12")) { return PciKind::device; }
  if (code.starts_with("0x02") || code.starts_with("0x0c06")) { return PciKind::nic; }
  if (code.starts_with("0x0604")) { return PciKind::bridge; }
  return code.starts_with("0x0108") ? PciKind::drive : PciKind::other;
}

/// GT/s of "16.0 GT/s PCIe"; nothing when empty, unknown or not a number.
std::optional<double> gigatransfers(std::string_view speed) {
  double value = 0;
  const auto [end, error] = std::from_chars(speed.data(), speed.data() + speed.size(), value);
  const bool known = error == std::errc{} && value > 0 && value <= 1000;
  return known ? std::optional(value) : std::nullopt;
}

/// NIC ports add up: NCCL takes each <net> for one.
struct Ports {
  double megabits = 0;
  bool stated = true;
};

/// Walks a system element and builds its node.
class SystemReader {
 public:
  SystemReader(const ImportOptions& options, Problems& problems)
      : options_(options), problems_(problems) {}

  ImportedCluster read(const XmlElement& system) {
    count_unclassified(system);
    find_gpu(system);
    imported_.format = "NCCL topology XML";
    machine_ = machine_of(options_, guess_, imported_.assumptions);
    for (const XmlElement& cpu : system.children) {
      if (cpu.name == "cpu") { read_cpu(cpu); }
    }
    if (node_.devices.empty()) {
      problems_.add({.path = system.place,
                     .found = "no GPU",
                     .expected = "pci elements of class 0x03 or with a gpu element in <system>"});
      return std::move(imported_);
    }
    finish();
    return std::move(imported_);
  }

 private:
  /// The lowest number of unclassified leaves in a cpu element that has any.
  void count_unclassified(const XmlElement& system) {
    for (const XmlElement& cpu : system.children) {
      const auto leaves = static_cast<int>(std::ranges::count_if(cpu.children, [](const auto& e) {
        return e.name == "pci" && kind_of(e) == PciKind::unclassified;
      }));
      if (leaves > 0) { unclassified_gpus_ = std::min(unclassified_gpus_, leaves); }
    }
  }

  /// What GPUs they are: by PCI device, else by compute capability.
  void find_gpu(const XmlElement& element) {
    if (element.name == "pci" && kind_of(element) == PciKind::device && guess_.device.empty()) {
      const XmlElement* gpu = child_named(element, "gpu");
      guess_ = guessed_gpu(element, gpu);
    }
    for (const XmlElement& child : element.children) { find_gpu(child); }
    if (element.name == "system" && guess_.device.empty()) {
      guess_ = {"a100-pcie-80g", "the file does not say what they are"};
    }
  }

  void read_cpu(const XmlElement& cpu) {
    const int bridge = static_cast<int>(node_.host.bridges.size());
    node_.host.bridges.push_back(bridge);
    unclassified_seen_ = 0;
    for (const XmlElement& child : cpu.children) {
      if (child.name == "pci") {
        read_pci(child, {cost::SlotAt::host_bridge, bridge, {}});
      } else if (child.name == "nic") {
        add_nic(child, {cost::SlotAt::host_bridge, bridge, pcie_link(machine_.pcie)});
      }
    }
  }

  void read_pci(const XmlElement& pci, cost::Slot slot) {
    slot.link = link_of(pci);
    switch (kind_of(pci)) {
      case PciKind::bridge: read_bridge(pci, slot); break;
      case PciKind::device: add_device(pci, slot); break;
      case PciKind::nic: {
        const XmlElement* nic = child_named(pci, "nic");
        add_nic(nic == nullptr ? pci : *nic, slot);
        break;
      }
      case PciKind::drive: node_.drives.push_back(slot); break;
      case PciKind::unclassified:
        ++unclassified_seen_;
        if (unclassified_seen_ <= unclassified_gpus_) {
          add_device(pci, slot);
        } else {
          add_nic(pci, slot);
        }
        break;
      case PciKind::other:
        note(pci, "is of class " + in_quotes(pci.text("class")) + " and is left out");
        break;
    }
  }

  void read_bridge(const XmlElement& pci, const cost::Slot& slot) {
    const int number = static_cast<int>(node_.host.switches.size());
    node_.host.switches.push_back(slot);
    const std::size_t devices = node_.devices.size(), nics = node_.nics.size();
    bool slower = false;
    for (const XmlElement& child : pci.children) {
      if (child.name != "pci") { continue; }
      read_pci(child, {cost::SlotAt::pcie_switch, number, {}});
      slower = slower || link_of(child).bandwidth > slot.link.bandwidth;
    }
    const bool used = node_.devices.size() > devices || node_.nics.size() > nics;
    if (slower && used) { append(slow_uplinks_, pci.text("busid")); }
  }

  /// As NCCL reads it; where the file says nothing, as the device's generation has it.
  cost::LinkSpec link_of(const XmlElement& pci) {
    const std::string* speed = pci.find("link_speed");
    if (speed == nullptr) { return pcie_link(machine_.pcie); }
    const XmlAttributes attributes(pci, problems_);
    int width = attributes.integer("link_width", 16);
    if (width == 0) { width = 16; }
    if (width < 0 || width > 32) {
      attributes.fail("link_width", std::to_string(width), "1 to 32");
    }
    constexpr double kNcclDefault = 8.0;
    const std::optional<double> rate = gigatransfers(*speed);
    if (!rate && !noted_speed_) {
      noted_speed_ = true;
      imported_.assumptions.push_back("empty or unknown link_speed: 8 GT/s, as NCCL takes it (" +
                                      pci.place + ")");
    }
    return pcie_link(pcie_rate(rate.value_or(kNcclDefault), std::max(width, 1)));
  }

  void add_device(const XmlElement& pci, const cost::Slot& slot) {
    const int number = static_cast<int>(node_.devices.size());
    node_.devices.push_back({0, slot});
    const XmlElement* gpu = child_named(pci, "gpu");
    links_.add_gpu(pci, gpu, number, problems_);
  }

  void add_nic(const XmlElement& nic, const cost::Slot& slot) {
    const Ports ports = ports_of(nic);
    BytesPerSecond rate{ports.megabits * 1e6 / 8};
    if (!ports.stated) {
      rate = machine_.rates.nic;
      ++assumed_nics_;
    }
    node_.nics.push_back({slot, nic_wire(rate), {}});
  }

  Ports ports_of(const XmlElement& nic) {
    Ports ports;
    int count = 0;
    for (const XmlElement& net : nic.children) {
      if (net.name != "net") { continue; }
      const XmlAttributes attributes(net, problems_);
      constexpr int kNcclDefault = 10'000;
      const int speed = attributes.integer("speed", kNcclDefault);
      if (speed < 0 || speed > 100'000'000) {
        attributes.fail("speed", std::to_string(speed), "Mb/s, such as 200000");
      }
      ports.megabits += speed > 0 ? speed : kNcclDefault;
      ++count;
    }
    if (count == 0) { return {0, false}; }
    if (count > 1) { ++bonded_nics_; }
    return ports;
  }

  void note(const XmlElement& pci, const std::string& text) {
    imported_.assumptions.push_back(std::string(pci.text("busid")) + " (" + pci.place + ") " +
                                    text);
  }

  static void append(std::string& list, std::string_view word) {
    list.append(list.empty() ? "" : ", ").append(word);
  }

  void finish() {
    auto& assumptions = imported_.assumptions;
    if (!slow_uplinks_.empty()) {
      assumptions.push_back(
          "PCIe switches whose uplink is slower than what is below them, kept as the "
          "file says: " +
          slow_uplinks_);
    }
    complete_host(node_.host, machine_, assumptions);
    links_.wire(node_, machine_, assumptions);
    if (assumed_nics_ > 0) {
      assumptions.push_back(std::to_string(assumed_nics_) +
                            " NICs without a speed in the file at " +
                            rate_text(machine_.rates.nic.value) + ": " + machine_.nic_source);
    }
    if (bonded_nics_ > 0) {
      assumptions.push_back("NICs with several ports have the sum of their speeds (" +
                            std::to_string(bonded_nics_) + " of them)");
    }
    if (unclassified_gpus_ != INT_MAX) {
      assumptions.push_back("pci elements without a class: " + std::to_string(unclassified_gpus_) +
                            " GPUs in every cpu element, then NICs");
    }
    assumptions.push_back(latency_assumption());
    imported_.summary = std::to_string(node_.devices.size()) + " devices, " +
                        std::to_string(node_.nics.size()) + " NICs, " +
                        std::to_string(node_.host.switches.size()) + " PCIe switches, " +
                        std::to_string(node_.host.bridges.size()) + " NUMA nodes";
    imported_.cluster = cluster_of_nodes(std::move(node_), options_, machine_, problems_);
  }

  const ImportOptions& options_;
  Problems& problems_;
  ImportedCluster imported_;
  Machine machine_;
  DeviceGuess guess_;
  cost::NodeDesign node_;
  NcclLinks links_;
  int unclassified_gpus_ = INT_MAX, unclassified_seen_ = 0;
  int assumed_nics_ = 0, bonded_nics_ = 0;
  bool noted_speed_ = false;
  std::string slow_uplinks_;  // bus numbers
};

}  // namespace

ImportedCluster read_nccl_topology(const XmlElement& system, const ImportOptions& options,
                                   Problems& problems) {
  return SystemReader(options, problems).read(system);
}

}  // namespace tsim::sim
