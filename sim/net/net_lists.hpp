// Ranks and sizes as the command line of `net` states them.
#pragma once

#include <string_view>
#include <vector>

#include "models/units.hpp"
#include "sim/input/input_error.hpp"

namespace tsim::sim {

/// Names of all operations, in the order of cost::CollectiveOp.
std::vector<std::string_view> op_names();

/// "0-7,12": devices in the order written, each below `devices`, none twice. A problem at `flag`
/// when it is not so.
std::vector<int> read_ranks(std::string_view text, int devices, std::string_view flag,
                            Problems& problems);

/// "1MiB", "1KiB,1MiB", or "1KiB:4GiB[:factor]": from the first on, times the factor (2), as far
/// as the second. Ascending as written; a problem at `flag` when it is not so.
std::vector<Bytes> read_sizes(std::string_view text, std::string_view flag, Problems& problems);

}  // namespace tsim::sim
