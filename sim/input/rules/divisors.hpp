// Nearest values that would be right, for hints.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tsim::sim {

/// Divisors of `n` >= 1 in rising order.
std::vector<std::int64_t> divisors(std::int64_t n);

/// "1, 2, 4, 7"; long lists are cut in the middle.
std::string list_text(const std::vector<std::int64_t>& values);

/// The multiples of `step` around `value`: "23 or 46"; the lower one only when it is above zero.
std::string nearest_multiples(std::int64_t value, std::int64_t step);

/// `layers` dealt to `stages` as evenly as can be, the larger ones first: "[8, 8, 7, 7]".
std::string even_list(std::int64_t layers, std::int64_t stages);

}  // namespace tsim::sim
