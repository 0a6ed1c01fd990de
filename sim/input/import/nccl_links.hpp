// GPUs of an NCCL topology file, and the links between them beside PCIe.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/input/import/machine.hpp"
#include "sim/input/import/xml_document.hpp"

namespace tsim::sim {

/// By PCI device number, RCCL's gcn attribute, or compute capability. `gpu` may be nullptr.
DeviceGuess guessed_gpu(const XmlElement& pci, const XmlElement* gpu);

/// Collects <nvlink> and <xgmi> elements, and wires them when all GPUs are known.
class NcclLinks {
 public:
  /// `gpu` may be nullptr: a file that leaves them out.
  void add_gpu(const XmlElement& pci, const XmlElement* gpu, int number, Problems& problems);

  /// NVSwitch planes where links lead to switches (class 0x0680), pairs where they lead to GPUs. A
  /// file without gpu elements for devices that come with an NVSwitch gets the usual links.
  void wire(cost::NodeDesign& node, const Machine& machine, std::vector<std::string>& assumptions);

 private:
  struct Bundle {
    int from = 0;
    std::string target, kind;
    int count = 1;
    std::string place;
  };
  struct Wired {
    std::map<std::pair<int, int>, int> lanes;            // by pair of GPUs
    std::map<int, std::map<std::string, int>> switched;  // by GPU: lanes to each switch
  };
  Wired sort(std::vector<std::string>& assumptions) const;
  static void wire_planes(cost::NodeDesign& node, const Wired& wired, const Machine& machine,
                          std::vector<std::string>& assumptions);

  std::map<std::string, int> numbers_;  // by bus number
  std::vector<Bundle> bundles_;
  bool described_ = false;  // some gpu element was there
};

}  // namespace tsim::sim
