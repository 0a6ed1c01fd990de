// From imported points to a device's measured points with fits.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cost/device.hpp"
#include "sim/calibrate/import/imported_points.hpp"

namespace tsim::calibrate {

/// What became of one imported file.
struct Taken {
  std::size_t points = 0;      // taken
  std::size_t repeated = 0;    // a file before it has the shape, or another program the series
  std::size_t impossible = 0;  // faster than the device can be
};

struct Calibration {
  cost::Measured measured;   // indexed, with surfaces and links
  std::vector<Taken> taken;  // by file
};

/// The highest rates of any point: what the device reaches, whatever its data sheet says.
struct Ceilings {
  FlopsPerSecond product;  // of the products in `dtype`
  BytesPerSecond memory;   // of maps and copies within the device, read and written
};
Ceilings ceilings(std::span<const ImportedPoint> points, models::DType dtype);

/// Points of all files on `device`. Products, copies and collectives are a library's, whoever calls
/// it: all files' points join, and of two with the same shape the first stands. Other kernels are
/// each program's own: a series is of the files of the format that has it first. A time less than
/// 0.9 of the roofline without tiles is no time of this device and is left out.
Calibration calibrate(std::span<const ImportedPoints> files, const cost::Device& device);

}  // namespace tsim::calibrate
