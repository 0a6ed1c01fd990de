// Programs of collectives as JSON: chunks, steps, dependencies.
#pragma once

#include <optional>
#include <string>

#include "cost/programs/program.hpp"
#include "sim/input/json_reader.hpp"

namespace tsim::sim {

/// The program at `place`. A step is {"from", "to", "chunk"} or {"from", "to", "source", "target"}
/// with places such as "input 3", and may have "count", "reduce", "channel" and "after": numbers of
/// the steps that it waits for. When no step has "after", each waits for what the order of the list
/// makes it depend on. Whether the program implements its collective is not checked here. With
/// problems, the result is not to be used.
std::optional<cost::CollectiveProgram> read_program(const Place& place);

/// The same form, one step a line.
std::string to_json_text(const cost::CollectiveProgram& program);

}  // namespace tsim::sim
