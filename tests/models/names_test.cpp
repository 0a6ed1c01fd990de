#include <doctest/doctest.h>

#include <set>
#include <string_view>

#include "models/kernel.hpp"
#include "models/model.hpp"

using namespace tsim::models;

namespace {

/// Whether the enumerators up to `last` all have words of their own.
template <class Enum>
bool all_named_apart(Enum last) {
  std::set<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    const std::string_view name = name_of(static_cast<Enum>(i));
    if (name.empty() || !names.insert(name).second) { return false; }
  }
  return true;
}

}  // namespace

TEST_CASE("every enumerator has a word of its own") {
  CHECK(all_named_apart(Axis::pooled));
  CHECK(all_named_apart(OpClass::elementwise));
  CHECK(all_named_apart(OpKind::reshape));
  CHECK(all_named_apart(Part::loss));
  CHECK(all_named_apart(Fusion::full));
  CHECK(all_named_apart(Family::vision));
  CHECK(all_named_apart(Norm::rms_norm));
  CHECK(all_named_apart(NormPlace::post));
  CHECK(all_named_apart(Activation::geglu));
  CHECK(all_named_apart(Positions::none));
  CHECK(all_named_apart(BlockKind::head));
}

TEST_CASE("words stand for the right enumerators") {
  CHECK(name_of(Axis::gate_ffn) == "gate_ffn");
  CHECK(name_of(Axis::pooled) == "pooled");
  CHECK(name_of(OpKind::residual_add) == "residual_add");
  CHECK(name_of(OpKind::reshape) == "reshape");
  CHECK(name_of(Part::attention_core) == "attention_core");
  CHECK(name_of(BlockKind::decoder_embedding) == "decoder_embedding");
  CHECK(name_of(Positions::relative) == "relative");
}

TEST_CASE("number formats are found by name and have their sizes") {
  for (const DTypeRow& row : kDTypes) {
    CHECK(dtype_named(row.name) == row.dtype);
    CHECK(size_of(row.dtype) == row.bytes);
  }
  CHECK(size_of(DType::tf32) == 4);
  CHECK_FALSE(dtype_named("fp12").has_value());
}
