#include <ostream>

#include "sim/cli/commands.hpp"
#include "sim/cli/print_devices.hpp"
#include "sim/input/read_device.hpp"

namespace tsim::cli {

int devices_command(const DevicesOptions& options, std::ostream& out, std::ostream&) {
  const std::vector<cost::Device> devices = sim::list_devices();
  if (options.names_only) {
    for (const cost::Device& device : devices) { out << device.name << '\n'; }
  } else if (options.json) {
    print_devices_json(devices, out);
  } else {
    print_devices_text(devices, out);
  }
  return 0;
}

}  // namespace tsim::cli
