#include "sim/input/import/program_limits.hpp"

namespace tsim::sim {

std::optional<std::string> too_much_memory(const cost::CollectiveProgram& p) {
  constexpr std::int64_t kMost = 1 << 21;
  const std::int64_t chunks = std::int64_t{p.ranks} * memory_size(p);
  if (chunks <= kMost) { return std::nullopt; }
  return std::to_string(p.ranks) + " ranks with memory for " + std::to_string(memory_size(p)) +
         " chunks, more than " + std::to_string(kMost) + " in all";
}

std::optional<std::string> too_many_moves(std::int64_t moves) {
  constexpr std::int64_t kMost = 1 << 24;
  if (moves <= kMost) { return std::nullopt; }
  return "steps that move " + std::to_string(moves) + " chunks, more than " + std::to_string(kMost);
}

}  // namespace tsim::sim
