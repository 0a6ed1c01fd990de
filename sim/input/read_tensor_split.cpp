#include "sim/input/read_tensor_split.hpp"

#include <array>

#include "cost/collectives.hpp"
#include "sim/input/rules/divisors.hpp"
#include "sim/input/suggest.hpp"
#include "strategies/tensor/operator_cut.hpp"

namespace tsim::sim {
namespace {

using strategies::Strategy;

void read_operators(const Place& place, Strategy& s) {
  if (!place.present()) { return; }
  Reader in(place);
  if (!in.readable()) { return; }
  for (const auto& [name, value] : place.value->items()) {
    const Place cut = in.take(name);
    const std::string written = read_text(cut);
    const auto factors = strategies::parse_factors(written);
    if (factors) {
      s.operators[name] = *factors;
    } else if (!written.empty()) {
      cut.fail(in_quotes(written), "a tuple of factors for each operand, as \"((4,1),(1,1))\"");
    }
  }
  in.finish();
}

/// side x side x depth = tensor, or a problem that names degrees for which it is.
void read_side(const Place& layout, Strategy& s, int depth) {
  int side = 1;
  while ((side + 1) * (side + 1) * depth <= s.tensor) { ++side; }
  if (side * side * depth == s.tensor) {
    s.grid = {.side = side, .depth = depth};
    return;
  }
  std::vector<std::int64_t> valid;
  for (std::int64_t q = 1; q <= 8; ++q) { valid.push_back(q * q * depth); }
  layout.fail(in_quotes(read_text(layout)) + " with tensor = " + std::to_string(s.tensor),
              "tensor = side*side*depth with depth " + std::to_string(depth) + ": " +
                  list_text(valid) + ", ...");
}

void read_grid(Reader& in, Strategy& s) {
  static constexpr std::array<std::string_view, 3> kLayouts{"1d", "2d", "2.5d"};
  const Place layout = in.take("tensor_layout");
  const Place depth_place = in.take("tensor_depth");
  const std::size_t dimensions = read_choice(layout, kLayouts, 0);
  const auto depth = static_cast<int>(read_count(depth_place, {1, 1000}, 1));
  if (dimensions < 2 && depth_place.present()) {
    depth_place.fail(std::to_string(depth), "nothing without tensor_layout = \"2.5d\"");
  } else if (dimensions == 2 && !depth_place.present()) {
    depth_place.fail("nothing", "the layers of grids with tensor_layout = \"2.5d\"");
  } else if (dimensions > 0) {
    read_side(layout, s, depth);
  }
}

}  // namespace

void read_tensor_split(Reader& in, Strategy& s) {
  read_operators(in.take("operators"), s);
  read_grid(in, s);
  s.tensor_chunks = static_cast<int>(read_count(in.take("tensor_chunks"), {1, 1000}, 1));
}

void read_collective(const Place& place, Strategy& s) {
  static constexpr std::array<std::string_view, 3> kCollectives{"auto", "ring", "tree"};
  if (!place.present() || !place.value->is_object()) {
    s.collective = kCollectives[read_choice(place, kCollectives, 0)];
    return;
  }
  Reader in(place);
  for (int i = 0; i < cost::kCollectiveOps; ++i) {
    const auto op = static_cast<cost::CollectiveOp>(i);
    const Place choice = in.take(name_of(op));
    if (!choice.present()) { continue; }
    std::vector<std::string_view> names = cost::collective_algorithms(op);
    names.insert(names.begin(), "auto");
    s.collective_of[op] = names[read_choice(choice, names, 0)];
  }
  in.finish();
}

}  // namespace tsim::sim
