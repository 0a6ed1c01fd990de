// One wish for the algorithm of all collectives of a run.
#pragma once

#include <string_view>

#include "cost/tuning.hpp"

namespace tsim::cost {

/// `wanted` where `op` has an algorithm of that name, else "auto": not every operation has every
/// algorithm. The text must outlive the result.
std::string_view algorithm_or_auto(CollectiveOp op, std::string_view wanted);

}  // namespace tsim::cost
