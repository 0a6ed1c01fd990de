#include "models/op_graph.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <stdexcept>

using namespace tsim;
using namespace tsim::models;

namespace {

/// An element-wise operator from one tensor to another.
Op op_between(const char* name, TensorId from, TensorId to) {
  return {.name = name,
          .inputs = {{from, {{Axis::hidden, 4}}}},
          .outputs = {{to, {{Axis::hidden, 4}}}},
          .saved = {from}};
}

/// x -> first -> y -> second -> z, listed the wrong way round.
OpGraph reversed_chain() {
  OpGraph g;
  const Shape shape{{Axis::hidden, 4}};
  g.tensors = {{.name = "x", .shape = shape},
               {.name = "y", .shape = shape, .producer = 1},
               {.name = "z", .shape = shape, .producer = 0}};
  g.ops = {op_between("second", 1, 2), op_between("first", 0, 1)};
  g.input = 0;
  g.output = 2;
  return g;
}

}  // namespace

TEST_CASE("a shape knows its elements and its axes") {
  const Shape shape{{Axis::batch, 8}, {Axis::sequence, 512}, {Axis::hidden, 768}};
  CHECK(elements(shape) == 3'145'728);
  CHECK(elements({}) == 1);
  CHECK(has_axis(shape, Axis::sequence));
  CHECK_FALSE(has_axis(shape, Axis::vocab));
  CHECK(to_string(shape) == "[batch 8, sequence 512, hidden 768]");
  CHECK(to_string({}) == "[]");
}

TEST_CASE("a tensor's bytes follow its format") {
  Tensor t{.name = "t", .shape = {{Axis::hidden, 10}}, .dtype = DType::fp16};
  CHECK(size_of(t) == Bytes{20});
  t.dtype = DType::bool8;
  CHECK(size_of(t) == Bytes{10});
  t.dtype = DType::int64;
  CHECK(size_of(t) == Bytes{80});
}

TEST_CASE("sorting puts producers first and renumbers them") {
  const OpGraph sorted = topologically_sorted(reversed_chain());
  REQUIRE(sorted.ops.size() == 2);
  CHECK(sorted.ops[0].name == "first");
  CHECK(sorted.ops[1].name == "second");
  CHECK(sorted.tensors[1].producer == 0);
  CHECK(sorted.tensors[2].producer == 1);
}

TEST_CASE("sorting leaves a graph in order as it is") {
  const OpGraph sorted = topologically_sorted(reversed_chain());
  CHECK(topologically_sorted(sorted) == sorted);
}

TEST_CASE("a cycle is a programming error that names an operator on it") {
  OpGraph g = reversed_chain();
  g.tensors[0].producer = 0;  // "second" would make what "first" reads
  g.ops[0].outputs.push_back({0, {{Axis::hidden, 4}}});
  try {
    topologically_sorted(g);
    FAIL("no exception");
  } catch (const std::logic_error& e) {
    const std::string what = e.what();
    CHECK((what.find("first") != std::string::npos || what.find("second") != std::string::npos));
  }
}

TEST_CASE("consumers are the operators that read an output") {
  const OpGraph g = reversed_chain();
  CHECK(consumers(g, 1) == std::vector<OpId>{0});
  CHECK(consumers(g, 0).empty());
}

TEST_CASE("a tensor that two operators keep is kept once") {
  OpGraph g = reversed_chain();
  g.ops[0].saved = {1, 2};
  g.ops[1].saved = {0, 1};
  CHECK(saved_tensors(g) == std::vector<TensorId>{0, 1, 2});
  CHECK(saved_bytes(g) == Bytes{3 * 4 * 2});
}

TEST_CASE("a second input from elsewhere is kept elsewhere") {
  OpGraph g = reversed_chain();
  g.input = -1;
  g.memory = 0;
  CHECK(saved_tensors(g) == std::vector<TensorId>{1});
  g.input = 0;  // handed on by this block
  CHECK(saved_tensors(g) == std::vector<TensorId>{0, 1});
}

TEST_CASE("an operator's model FLOPs count every point of its space") {
  const Op op{.name = "product",
              .space = {{Axis::sequence, 3}, {Axis::ffn, 5}, {Axis::hidden, 7}},
              .flops_per_point = 2,
              .executed = 0.5};
  CHECK(model_flops(op).value == 2 * 3 * 5 * 7);
}
