// Training splits, and the records that fitted device files keep of them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/input/json_reader.hpp"
#include "sim/validate/split.hpp"

namespace tsim::sim {

/// The split in the file at `path`; starts are read from its device. Throws InputErrors.
validate::Split read_split(const std::filesystem::path& path);

/// `values` of the split's parameters set over its device, as a scenario states one:
/// {"base": ..., "gemm": {"ceiling": 0.8}}.
std::string changed_device(const validate::Split& split, const std::vector<double>& values);

/// What a device file says of its fit; a problem when it is not whole.
validate::FitRecord read_fit_record(const Place& place);

/// The record of the device called so, if it was fitted. Throws InputErrors.
std::optional<validate::FitRecord> fit_record_of(const std::string& device);

/// The device that a row's document names at /cluster/device, or some of whose figures it changes
/// there; empty for any other object or none.
std::string device_of(const std::string& document);

/// What a fit found, for the file.
struct FittedFigures {
  std::vector<double> values, errors;  // of the split's parameters
  std::vector<std::string> rows;       // SOURCE/ROW
  double before = 0, after = 0;        // root of the mean squared log ratio
};

/// The split's device file with the fitted figures and the record, to be written to `path`.
std::string fitted_device(const validate::Split& split, const FittedFigures& figures,
                          const std::filesystem::path& path);

}  // namespace tsim::sim
