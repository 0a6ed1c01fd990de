#include <ostream>

#include "sim/cli/calibrate/print_device.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/print_devices.hpp"
#include "sim/cli/write_file.hpp"
#include "sim/input/input_error.hpp"
#include "sim/input/read_device.hpp"

namespace tsim::cli {
namespace {

int show(const DevicesOptions& options, std::ostream& out) {
  const cost::Device device = sim::read_device(options.show);
  (options.json ? print_device_json : print_device)(device, out);
  if (options.svg.empty()) { return 0; }
  if (!device.measured) {
    throw sim::InputErrors("tsim devices show", {{.path = "--svg",
                                                  .found = "a device without measured points",
                                                  .expected = "one with \"measured\""}});
  }
  write_file(options.svg, [&](std::ostream& file) { draw_device(device, file); });
  return 0;
}

}  // namespace

int devices_command(const DevicesOptions& options, std::ostream& out, std::ostream&) {
  if (!options.show.empty()) { return show(options, out); }
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
