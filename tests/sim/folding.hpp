// What must hold between a run whose alike ranks are folded and one with all of them.
#pragma once

#include <doctest/doctest.h>

#include "sim/report/report.hpp"

namespace tsim::testing {

/// Fewer ranks are simulated, and step (to a relative `epsilon`) and memory are the same.
inline void check_folded(const sim::Report& folded, const sim::Report& each,
                         double epsilon = 1e-9) {
  CHECK(folded.simulated_ranks < each.simulated_ranks);
  CHECK(folded.step.value == doctest::Approx(each.step.value).epsilon(epsilon));
  CHECK(folded.needed == each.needed);
}

}  // namespace tsim::testing
