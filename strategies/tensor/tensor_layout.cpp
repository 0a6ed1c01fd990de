#include "strategies/tensor/tensor_layout.hpp"

#include <cassert>

namespace tsim::strategies {

bool is_power_of_two(std::int64_t n) { return n >= 1 && (n & (n - 1)) == 0; }

int bits_of(int ranks) {
  assert(is_power_of_two(ranks));
  int bits = 0;
  while ((1 << bits) < ranks) { ++bits; }
  return bits;
}

int shards(std::span<const int> bits) { return 1 << static_cast<int>(bits.size()); }

TensorLayout summed(TensorLayout layout) {
  layout.partial.clear();
  return layout;
}

std::string to_string(const TensorLayout& layout, int ranks) {
  std::string text = "[";
  int parts = 1;
  for (const std::vector<int>& bits : layout.dims) {
    text += (text.size() > 1 ? ", " : "") + std::to_string(shards(bits));
    parts *= shards(bits);
  }
  text += "]";
  const int summands = shards(layout.partial);
  const int repeated = ranks / (parts * summands);
  if (repeated > 1) { text += " repeated " + std::to_string(repeated); }
  if (summands > 1) { text += ", partial " + std::to_string(summands); }
  return text;
}

}  // namespace tsim::strategies
