// Device files: the figures of one device, each with its source.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "cost/device.hpp"
#include "sim/input/json_reader.hpp"

namespace tsim::sim {

/// The device at `place`: the name of one in the devices folders, the path of a file, an object, or
/// {"base": name or path, ...}. A device that cannot be read is a problem, and the result is then
/// not to be used.
cost::Device read_device(const Place& place, const std::filesystem::path& scenario_folder);

/// A device by name or path for commands that have no scenario. Throws InputErrors.
cost::Device read_device(std::string_view name_or_path);

/// The device in one file; what is wrong is told under the file's name.
cost::Device read_device_file(const std::filesystem::path& path, Problems& problems);

/// All devices known by name, sorted. A file that cannot be read throws InputErrors.
std::vector<cost::Device> list_devices();

}  // namespace tsim::sim
