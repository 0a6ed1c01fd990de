// How large a program may be for its check to end soon.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cost/programs/program.hpp"

namespace tsim::sim {

/// What makes the memories of a program too large to be followed; none when they are not.
std::optional<std::string> too_much_memory(const cost::CollectiveProgram& program);

/// The same of the chunks that its steps move, all together.
std::optional<std::string> too_many_moves(std::int64_t moves);

}  // namespace tsim::sim
