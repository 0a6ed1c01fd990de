#include "strategies/tensor/operator_cut.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "models/model.hpp"
#include "models/registry.hpp"

using namespace tsim;
using namespace tsim::strategies;
using models::Axis;

namespace {

models::OpGraph gpt_layer(std::int64_t micro_batch) {
  const auto config = models::model_named("gpt3-175b").value();
  const models::Model model =
      build_model(config, {.micro_batch = micro_batch, .sequence = 2048, .flash_attention = true});
  return std::find_if(model.blocks.begin(), model.blocks.end(),
                      [](const models::Block& b) { return b.kind == models::BlockKind::layer; })
      ->graph;
}

AxisCut cut(const models::OpGraph& graph, std::string_view name, std::string_view text,
            int ranks = 8) {
  const auto op = std::find_if(graph.ops.begin(), graph.ops.end(),
                               [&](const models::Op& o) { return o.name == name; });
  REQUIRE(op != graph.ops.end());
  return axis_cut(graph, *op, parse_factors(text).value(), ranks);
}

}  // namespace

TEST_CASE("the notation is read with and without spaces and printed without") {
  const OperandFactors expected{{4, 1}, {1, 1}};
  CHECK(parse_factors("((4,1),(1,1))").value() == expected);
  CHECK(parse_factors(" ( (4, 1) , (1 ,1) ) ").value() == expected);
  CHECK(to_string(expected) == "((4,1),(1,1))");
}

TEST_CASE("one operand may stand alone, and Python's trailing commas are read") {
  CHECK(parse_factors("(8,1,1)").value() == OperandFactors{{8, 1, 1}});
  CHECK(parse_factors("((2,),)").value() == OperandFactors{{2}});
}

TEST_CASE("what is no tuple of tuples of counts is refused") {
  for (const char* text : {"", "()", "(())", "((4,1)", "((4,1)),", "((4 1))", "((0,1))", "((-4,1))",
                           "((4.5,1))", "((99999999999,1))", "((4,1),1)", "4,1"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_factors(text).has_value());
  }
}

TEST_CASE("Megatron's column split cuts the right matrix's columns: heads of the projection") {
  const AxisCut c = cut(gpt_layer(1), "attention.qkv", "((1,1),(1,8))");
  REQUIRE_FALSE(c.problem.has_value());
  CHECK(factor_of(c.factors, Axis::qkv) == 8);
  CHECK(factor_of(c.factors, Axis::hidden) == 1);
  CHECK(factor_of(c.factors, Axis::head_dim) == 1);
}

TEST_CASE("rows are samples before they are tokens") {
  // Four samples: 4 of 8 parts along the batch, then 2 along the sequence.
  const AxisCut c = cut(gpt_layer(4), "mlp.fc1", "((8,1),(1,1))");
  REQUIRE_FALSE(c.problem.has_value());
  CHECK(factor_of(c.factors, Axis::batch) == 4);
  CHECK(factor_of(c.factors, Axis::sequence) == 2);
}

TEST_CASE("an operand may name every axis") {
  const AxisCut c = cut(gpt_layer(4), "mlp.fc1", "((1,4,1),(1,2))");
  REQUIRE_FALSE(c.problem.has_value());
  CHECK(factor_of(c.factors, Axis::batch) == 1);
  CHECK(factor_of(c.factors, Axis::sequence) == 4);
  CHECK(factor_of(c.factors, Axis::ffn) == 2);
}

TEST_CASE("a summed axis that both matrices have is cut alike in both") {
  const AxisCut c = cut(gpt_layer(1), "mlp.fc2", "((1,8),(4,1))");
  REQUIRE(c.problem.has_value());
  CHECK(c.problem->found == "8 and 4 for ffn");
}

TEST_CASE("factors that are no powers of two, do not divide their axis or exceed the group") {
  const models::OpGraph layer = gpt_layer(1);
  CHECK(cut(layer, "mlp.fc1", "((1,1),(1,3))").problem->expected == "a power of two");
  CHECK(cut(layer, "mlp.norm", "((2,1,1),(1),(1))").problem->expected == "a divisor of 1");
  CHECK(cut(layer, "mlp.fc1", "((4,1),(1,4))").problem->expected ==
        "parts that divide the tensor degree (8)");
  CHECK(cut(layer, "mlp.fc1", "((4,1))").problem->found == "((4,1))");
}
