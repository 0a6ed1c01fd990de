// Files of measured points (docs/points.md): a device's times by shape, where they come from, and
// the surfaces fitted through them.
#pragma once

#include <filesystem>

#include "cost/measured.hpp"
#include "sim/input/json_reader.hpp"

namespace tsim::sim {

/// The points at `place`: an object, or the path of a file as seen from `folder`. What is wrong in
/// that file is told under its name.
cost::Measured read_points(const Place& place, const std::filesystem::path& folder);

/// A file of points by itself.
cost::Measured read_points_file(const std::filesystem::path& path, Problems& problems);

}  // namespace tsim::sim
