#include "strategies/fit_layers.hpp"

#include <doctest/doctest.h>

#include "strategies/schedule.hpp"

using namespace tsim;
using namespace tsim::strategies;

namespace {

Strategy pipeline_of(int stages, const char* schedule) {
  Strategy s;
  s.pipeline = stages;
  s.schedule = schedule;
  s.split = LayerSplit::fitting;
  return s;
}

/// 100 parameters at 16 bytes, 1000 bytes of activations, 500 of workspace each.
std::vector<LayerMemory> equal_layers(std::size_t count) {
  LayerMemory layer;
  layer.elements = 100;
  layer.activations = Bytes{1000};
  layer.workspace = Bytes{500};
  return std::vector<LayerMemory>(count, layer);
}

/// Eight layers of equal time dealt to two stages of 1F1B, with so many bytes for each.
std::vector<int> dealt(std::int64_t capacity) {
  const Strategy s = pipeline_of(2, "1f1b");
  const Fits fits =
      fits_in_memory(equal_layers(8), s, most_in_flight(s, 8), {Bytes{capacity}, Bytes{capacity}});
  return deal({running_sums(std::vector<double>(8, 1.0))}, 8, s, fits);
}

}  // namespace

TEST_CASE("micro-batches in flight follow the schedule's order") {
  CHECK(most_in_flight(pipeline_of(4, "1f1b"), 8) == std::vector<int>{4, 3, 2, 1});
  CHECK(most_in_flight(pipeline_of(4, "1f1b"), 2) == std::vector<int>{2, 2, 2, 1});
  CHECK(most_in_flight(pipeline_of(4, "gpipe"), 8) == std::vector<int>(4, 8));
}

TEST_CASE("a stage's layers fit by states, activations in flight and one workspace") {
  // 4 in flight: 1600 + 4000 a layer and 500: three layers take 17,300 bytes.
  const Strategy s = pipeline_of(4, "1f1b");
  const auto fits = [&](std::int64_t capacity, int layers) {
    const std::vector<Bytes> all(4, Bytes{capacity});
    return fits_in_memory(equal_layers(8), s, most_in_flight(s, 8), all)(0, 0, layers);
  };
  CHECK(fits(17'300, 3));
  CHECK_FALSE(fits(17'299, 3));
  CHECK_FALSE(fits(17'300, 4));
}

TEST_CASE("layers move to where fewer micro-batches are in flight, no more than they must") {
  // A layer takes 3600 on the first stage, 2600 on the second.
  CHECK(dealt(100'000) == std::vector<int>{4, 4});
  CHECK(dealt(14'900) == std::vector<int>{4, 4});  // 4 x 3600 + 500
  CHECK(dealt(14'899) == std::vector<int>{3, 5});
  CHECK(dealt(13'500) == std::vector<int>{3, 5});  // 5 x 2600 + 500
}

TEST_CASE("when no cut fits layers are balanced by time, and the report says what is missing") {
  CHECK(dealt(11'000) == std::vector<int>{4, 4});
}
