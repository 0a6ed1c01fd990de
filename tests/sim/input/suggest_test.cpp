#include "sim/input/suggest.hpp"

#include <doctest/doctest.h>

#include <array>

using namespace tsim::sim;

TEST_CASE("edits are insertions, removals, changes and swaps of neighbours") {
  CHECK(edit_distance("pipeline", "pipeline") == 0);
  CHECK(edit_distance("pipline", "pipeline") == 1);
  CHECK(edit_distance("pipeline", "pipelines") == 1);
  CHECK(edit_distance("tensor", "tenosr") == 1);
  CHECK(edit_distance("data", "") == 4);
  CHECK(edit_distance("kitten", "sitting") == 3);  // Levenshtein's usual example
}

TEST_CASE("a word within two edits or with a common beginning is suggested") {
  constexpr std::array<std::string_view, 4> names{"tensor", "pipeline", "data", "h100-sxm-80g"};
  CHECK(nearest("tensr", names) == "tensor");
  CHECK(nearest("Pipeline", names) == "pipeline");
  CHECK(nearest("h100", names) == "h100-sxm-80g");
  CHECK(nearest("pipeline_stages", names) == "pipeline");
  CHECK(nearest("experts", names).empty());
  CHECK(nearest("", names).empty());
  CHECK(did_you_mean("dat", names) == "did you mean \"data\"?");
}

TEST_CASE("short words are not suggested for words that share no letter") {
  constexpr std::array<std::string_view, 2> names{"tp", "dp"};
  CHECK(nearest("xy", names).empty());
}

TEST_CASE("a quoted text is cut and has no control characters") {
  CHECK(in_quotes("a\nb") == "\"a?b\"");
  CHECK(in_quotes(std::string(100, 'x')) == "\"" + std::string(60, 'x') + "...\"");
}
