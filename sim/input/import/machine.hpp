// The device and the rates that an import settles on, and where each comes from.
#pragma once

#include <string>
#include <vector>

#include "sim/input/import/imported.hpp"
#include "sim/input/import/link_rates.hpp"
#include "sim/input/input_error.hpp"

namespace tsim::sim {

struct Machine {
  cost::Device device;
  MachineRates rates;
  BytesPerSecond pcie{};      // of a link that the file gives no speed for, 16 lanes
  std::string nvlink_source;  // one phrase for the list of assumptions
  std::string nic_source;
};

/// A device that a file suggests, and why. `machine`: what machine_rates() knows it as, when that
/// is another name (of a device that there is no file of).
struct DeviceGuess {
  std::string device, reason;
  std::string machine = {};
};

/// The options' device, else the guess; rates of its generation unless the options give them.
/// Throws InputErrors when the device cannot be read.
Machine machine_of(const ImportOptions& options, const DeviceGuess& guess,
                   std::vector<std::string>& assumptions);

/// What no such file tells of the host: links of the sockets, memory.
void complete_host(cost::HostDesign& host, const Machine& machine,
                   std::vector<std::string>& assumptions);

/// Nodes of one design in a network that never limits; a problem when there are several of them and
/// no NIC.
cost::ClusterDesign cluster_of_nodes(cost::NodeDesign node, const ImportOptions& options,
                                     const Machine& machine, Problems& problems);

}  // namespace tsim::sim
