#include "sim/input/import/machine.hpp"

#include <utility>

#include "sim/input/quantity.hpp"
#include "sim/input/read_device.hpp"

namespace tsim::sim {

Machine machine_of(const ImportOptions& options, const DeviceGuess& guess,
                   std::vector<std::string>& assumptions) {
  Machine machine;
  const bool told = !options.device.empty();
  machine.device = read_device(told ? options.device : guess.device);
  if (!told) {
    assumptions.push_back("devices: " + guess.device + ", as " + guess.reason +
                          "; --device sets another");
  }
  machine.rates =
      machine_rates(guess.machine.empty() || told ? machine.device.name : guess.machine);
  const std::string source = machine.rates.source;
  if (options.pcie_generation) { machine.rates.pcie_generation = *options.pcie_generation; }
  if (options.nvlink_lane) { machine.rates.nvlink_lane = *options.nvlink_lane; }
  if (options.nic) { machine.rates.nic = *options.nic; }
  const int generation = machine.rates.pcie_generation;
  machine.pcie = pcie_rate(pcie_gigatransfers(generation), 16);
  assumptions.push_back("PCIe generation " + std::to_string(generation) + ", 16 lanes, " +
                        rate_text(machine.pcie.value) + " of payload a direction where the file " +
                        "gives no speed: " + (options.pcie_generation ? "--pcie" : source));
  machine.nvlink_source = "NVLink: " + rate_text(machine.rates.nvlink_lane.value) +
                          " a lane and direction: " + (options.nvlink_lane ? "--nvlink" : source);
  machine.nic_source = options.nic ? "--nic" : source;
  return machine;
}

void complete_host(cost::HostDesign& host, const Machine& machine,
                   std::vector<std::string>& assumptions) {
  const int generation = machine.rates.pcie_generation;
  host.memory = host_memory(generation);
  host.socket_link = socket_link(generation);
  assumptions.push_back("host memory " + rate_text(host.memory.bandwidth.value) +
                        " a socket, sockets linked at " +
                        rate_text(host.socket_link.bandwidth.value) +
                        ": usual for hosts of PCIe generation " + std::to_string(generation));
}

cost::ClusterDesign cluster_of_nodes(cost::NodeDesign node, const ImportOptions& options,
                                     const Machine& machine, Problems& problems) {
  if (options.nodes > 1 && node.nics.empty()) {
    problems.add({.path = "--nodes",
                  .found = std::to_string(options.nodes),
                  .expected = "1, as the file has no NIC by which nodes could be joined"});
  }
  cost::ClusterDesign design;
  design.devices = {machine.device};
  design.nodes = {{std::move(node), options.nodes}};
  return design;
}

}  // namespace tsim::sim
