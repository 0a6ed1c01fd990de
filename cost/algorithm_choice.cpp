#include "cost/algorithm_choice.hpp"

#include <algorithm>

#include "cost/collectives.hpp"

namespace tsim::cost {

std::string_view algorithm_or_auto(CollectiveOp op, std::string_view wanted) {
  const std::vector<std::string_view> known = collective_algorithms(op);
  return std::ranges::find(known, wanted) == known.end() ? "auto" : wanted;
}

}  // namespace tsim::cost
