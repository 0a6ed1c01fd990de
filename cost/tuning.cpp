#include "cost/tuning.hpp"

#include <algorithm>

namespace tsim::cost {

std::vector<const Regime*> regimes_for(const Tuning& tuning, CollectiveOp op,
                                       std::string_view algorithm) {
  std::vector<const Regime*> best;  // by protocol, in the order of their first mention
  const auto special = [](const Regime& r) {
    return (r.op ? 2 : 0) + (r.algorithm.empty() ? 0 : 1);
  };
  for (const Regime& regime : tuning.regimes) {
    if ((regime.op && *regime.op != op) ||
        (!regime.algorithm.empty() && regime.algorithm != algorithm)) {
      continue;
    }
    const auto same = std::find_if(best.begin(), best.end(),
                                   [&](const Regime* r) { return r->protocol == regime.protocol; });
    if (same == best.end()) {
      best.push_back(&regime);
    } else if (special(regime) > special(**same)) {
      *same = &regime;
    }
  }
  static const Regime ideal;
  if (best.empty()) { best.push_back(&ideal); }
  return best;
}

}  // namespace tsim::cost
