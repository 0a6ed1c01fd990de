#include "sim/input/import/import_program.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "cost/collectives.hpp"
#include "cost/programs/expand.hpp"
#include "sim/input/import/msccl_xml.hpp"
#include "sim/input/import/program_json.hpp"
#include "tests/sim/input/inputs.hpp"

namespace tsim::sim {
namespace {

using enum cost::CollectiveOp;

Texts problems_of(const std::string& text) {
  Problems problems;
  const auto imported = import_program(text, problems);
  CHECK(imported.has_value() == problems.empty());
  Texts texts;
  for (const InputError& error : problems.errors()) { texts.push_back(to_text(error)); }
  return texts;
}

cost::CollectiveProgram program_of(const std::string& text) {
  Problems problems;
  const auto imported = import_program(text, problems);
  for (const InputError& error : problems.errors()) { FAIL(to_text(error)); }
  return imported->program;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

/// Two ranks exchange what they hold and add it, in one thread block each: both send before they
/// receive into the place that they sent from.
const std::string kExchange =
    R"(<algo name="exchange" proto="LL" nchannels="1" nchunksperloop="1" ngpus="2" coll="allreduce" inplace="1">
  <gpu id="0" i_chunks="1" o_chunks="0" s_chunks="0">
    <tb id="0" send="1" recv="1" chan="0">
      <step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
      <step s="1" type="rrc" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    </tb>
  </gpu>
  <gpu id="1" i_chunks="1" o_chunks="0" s_chunks="0">
    <tb id="0" send="0" recv="0" chan="0">
      <step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
      <step s="1" type="rrc" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    </tb>
  </gpu>
</algo>)";

/// All-reduce of three ranks along a chain: 2 gives to 1, which adds its own and passes it on
/// without keeping it, 0 keeps the sum and sends it back by way of 1. The blocks of ranks 0 and 1
/// that send down wait for those that brought the sum.
const std::string kChain =
    R"(<algo name="chain" proto="Simple" nchannels="1" nchunksperloop="1" ngpus="3" coll="allreduce" inplace="1" outofplace="0">
  <gpu id="0" i_chunks="1" o_chunks="0" s_chunks="0">
    <tb id="0" send="-1" recv="1" chan="0"><step s="0" type="rrc" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="1"/></tb>
    <tb id="1" send="1" recv="-1" chan="0"><step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="0" deps="0" hasdep="0"/></tb>
  </gpu>
  <gpu id="1" i_chunks="1" o_chunks="0" s_chunks="0">
    <tb id="0" send="0" recv="2" chan="0"><step s="0" type="rrs" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="1"/></tb>
    <tb id="1" send="2" recv="0" chan="0"><step s="0" type="rcs" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="0" deps="0" hasdep="0"/></tb>
  </gpu>
  <gpu id="2" i_chunks="1" o_chunks="0" s_chunks="0">
    <tb id="0" send="1" recv="-1" chan="0"><step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/></tb>
    <tb id="1" send="-1" recv="1" chan="0"><step s="0" type="r" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/></tb>
  </gpu>
</algo>)";

/// One rank gathers from the other by a copy and a transfer.
const std::string kGather =
    R"(<algo name="pair" proto="LL" nchannels="1" nchunksperloop="2" ngpus="2" coll="allgather" inplace="0" outofplace="1">
  <gpu id="0" i_chunks="1" o_chunks="2" s_chunks="0">
    <tb id="0" send="1" recv="1" chan="0">
      <step s="0" type="cpy" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
      <step s="1" type="s" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
      <step s="2" type="r" srcbuf="i" srcoff="0" dstbuf="o" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    </tb>
  </gpu>
  <gpu id="1" i_chunks="1" o_chunks="2" s_chunks="0">
    <tb id="0" send="0" recv="0" chan="0">
      <step s="0" type="cpy" srcbuf="i" srcoff="0" dstbuf="o" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/>
      <step s="1" type="s" srcbuf="i" srcoff="0" dstbuf="o" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/>
      <step s="2" type="r" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    </tb>
  </gpu>
</algo>)";

using Key = std::tuple<int, int, int, int, int, int, int, bool, int>;
std::vector<Key> sorted_steps(const cost::CollectiveProgram& p) {
  std::vector<Key> keys;
  for (const cost::Step& s : p.steps) {
    keys.emplace_back(s.from, s.to, s.source, s.target, s.count, static_cast<int>(s.source_buffer),
                      static_cast<int>(s.target_buffer), s.reduce, s.channel);
  }
  std::ranges::sort(keys);
  return keys;
}

/// Every algorithm that the planner can expand, small.
std::vector<cost::CollectiveProgram> known_programs() {
  std::vector<cost::CollectiveProgram> programs;
  for (const cost::CollectiveOp op :
       {all_reduce, reduce_scatter, all_gather, broadcast, reduce, scatter, gather, all_to_all}) {
    for (const std::string_view name : cost::collective_algorithms(op)) {
      if (cost::has_program(op, name)) { programs.push_back(cost::expand(op, name, 5, 2)); }
    }
  }
  return programs;
}

}  // namespace

TEST_CASE("a program that implements its collective is accepted") {
  CHECK(program_of(kChain).op == all_reduce);
  CHECK(program_of(kGather).op == all_gather);
}

TEST_CASE("ranks that send before they receive into the same place exchange by way of a buffer") {
  const cost::CollectiveProgram program = program_of(kExchange);
  CHECK(program.scratch == 1);
  CHECK(program.steps.size() == 4);  // two transfers, two additions
}

TEST_CASE("a sum that is passed on and not kept leaves the rank's own input as it was") {
  const cost::CollectiveProgram program = program_of(kChain);
  // s, rrs's copy and transfer, rrc, and two on the way back.
  CHECK(program.scratch == 1);
  CHECK(program.steps.size() == 5);
}

TEST_CASE("a wrong offset is refused with the first wrong chunk") {
  const std::string wrong =
      replaced(kGather, R"(type="r" srcbuf="i" srcoff="0" dstbuf="o" dstoff="1")",
               R"(type="r" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0")");
  CHECK(problems_of(wrong) ==
        Texts{"a program that is no all_gather: rank 0, output chunk 0 holds chunk 1 of ranks 1, "
              "expected chunk 0 of ranks 0"});
}

TEST_CASE("a receive that should add is refused") {
  const std::string wrong = replaced(kExchange, "rrc", "r");
  REQUIRE(problems_of(wrong).size() == 1);
  CHECK(problems_of(wrong)[0].starts_with(
      "a program that is no all_reduce: rank 0, output chunk 0 holds chunk 0 of ranks 1, expected "
      "chunk 0 of ranks 0-1"));
}

TEST_CASE("a wait that is left out makes a race, which is refused") {
  const std::string wrong = replaced(kChain, R"(cnt="1" depid="0" deps="0" hasdep="0"/></tb>
  </gpu>
  <gpu id="1")",
                                     R"(cnt="1" depid="-1" deps="-1" hasdep="0"/></tb>
  </gpu>
  <gpu id="1")");
  REQUIRE(problems_of(wrong).size() == 1);
  CHECK(problems_of(wrong)[0].starts_with("a program that is no all_reduce: rank "));
}

TEST_CASE("a send without its receive is told with its place") {
  const std::string wrong =
      replaced(kExchange, "send=\"0\" recv=\"0\" chan=\"0\"", "send=\"0\" recv=\"0\" chan=\"1\"");
  const Texts texts = problems_of(wrong);
  REQUIRE(texts.size() == 4);
  CHECK(texts[0] ==
        "4:7: found a send from GPU 0 to GPU 1 over channel 0 without its receive, "
        "expected as many of both (1 and 0)");
}

TEST_CASE("blocks that wait for each other are refused") {
  // Rank 0's first block waits for its second, which waits for the first.
  const std::string wrong =
      replaced(kChain, R"(dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="1")",
               R"(dstoff="0" cnt="1" depid="1" deps="0" hasdep="1")");
  CHECK(problems_of(wrong) == Texts{"3:44: a step that waits, by way of others, for itself"});
}

TEST_CASE("what cannot be in an algorithm is told with line and column") {
  CHECK(problems_of(replaced(kGather, "allgather", "custom"))[0].starts_with(
      "1:1: <algo> coll: found \"custom\", expected one of allreduce"));
  CHECK(problems_of(replaced(kGather, "type=\"cpy\"", "type=\"copy\""))[0].starts_with(
      "4:7: <step> type: found \"copy\", expected one of s, r, rcs"));
  CHECK(problems_of(replaced(kGather, "dstoff=\"0\"", "dstoff=\"2\""))[0] ==
        "4:7: <step> dstoff: found 2 (1 chunks), expected chunks of the output, which has 2");
  CHECK(problems_of(replaced(kGather, "depid=\"-1\" deps=\"-1\"", "depid=\"7\" deps=\"0\""))[0] ==
        "4:7: found a wait for step 0 of thread block 7, expected one that its GPU has");
  CHECK(problems_of(replaced(kGather, "ngpus=\"2\"", "ngpus=\"3\"")).size() == 1);
  CHECK(problems_of("<system/>")[0].ends_with("hint: tsim import topo reads this file"));
}

TEST_CASE("programs survive the way through MSCCL's XML") {
  for (const cost::CollectiveProgram& program : known_programs()) {
    CAPTURE(program.name);
    CAPTURE(name_of(program.op));
    Problems problems;
    const auto again = import_program(to_msccl(program), problems);
    for (const InputError& error : problems.errors()) { FAIL(to_text(error)); }
    CHECK(again->program.op == program.op);
    CHECK(sorted_steps(again->program) == sorted_steps(program));
  }
}

TEST_CASE("programs survive the way through JSON as they are") {
  for (const cost::CollectiveProgram& program : known_programs()) {
    const cost::CollectiveProgram again = program_of(to_json_text(program));
    CHECK(again.name == program.name);
    CHECK(again.steps == program.steps);
    CHECK(again.after == program.after);
    CHECK(again.first == program.first);
    CHECK(again.in_place == program.in_place);
  }
}

TEST_CASE("MSCCL cannot say what it has no word for") {
  cost::CollectiveProgram program = cost::expand(all_reduce, "ring", 4);
  program.after[0] = 2;  // from rank 2 to 3, while step 4 goes from 0 to 1
  CHECK_THROWS_AS(to_msccl(program), std::invalid_argument);
  program.op = barrier;
  CHECK_THROWS_AS(to_msccl(program), std::invalid_argument);
}

TEST_CASE("steps of a JSON program without \"after\" depend on each other by their order") {
  const cost::CollectiveProgram program = program_of(R"({
    "collective": "all_reduce", "ranks": 3, "chunks": 1,
    "steps": [{"from": 2, "to": 1, "chunk": 0, "reduce": true},
              {"from": 1, "to": 0, "chunk": 0, "reduce": true},
              {"from": 0, "to": 1, "chunk": 0},
              {"from": 1, "to": 2, "chunk": 0}]})");
  CHECK(std::vector<cost::StepId>(dependencies(program, 1).begin(),
                                  dependencies(program, 1).end()) == std::vector<cost::StepId>{0});
  CHECK(program.in_place);
}

TEST_CASE("mistakes in a JSON program are told by their places") {
  CHECK(problems_of(R"({"collective": "all_reduce", "ranks": 2, "chunks": 1, "steps": [
           {"from": 0, "to": 2, "source": "inputs 0", "target": "scratch 0"}]})") ==
        Texts{"/steps/0/to: found 2, expected 0 or 1",
              "/steps/0/source: found \"inputs 0\", expected a place such as \"input 3\" (input, "
              "output or scratch)",
              "/steps/0: found scratch 0 to 0, expected one of its 0 chunks"});
  CHECK(problems_of(R"({"collective": "all_reduce", "ranks": 2, "chunks": 1,
                        "steps": [{"from": 0, "to": 1, "chunk": 0, "reduce": true}]})")[0]
            .starts_with("a program that is no all_reduce: rank 0, output chunk 0 holds chunk 0 of "
                         "ranks 0, expected chunk 0 of ranks 0-1"));
}

TEST_CASE("NCCL's rings become an all-reduce over them side by side") {
  const cost::CollectiveProgram program = program_of(R"(<graphs version="1">
    <graph id="0" pattern="4" nchannels="2">
      <channel><gpu dev="0"/><gpu dev="1"/><gpu dev="2"/></channel>
      <channel><gpu dev="0"/><gpu dev="2"/><gpu dev="1"/></channel>
    </graph></graphs>)");
  CHECK(program.ranks == 3);
  CHECK(program.steps.size() == 2 * 2 * 2 * 3);  // rings, phases, rounds, ranks
  CHECK(problems_of(R"(<graphs><graph pattern="4"><channel><gpu dev="0"/><net dev="0"/></channel>
                       </graph></graphs>)")
            .size() == 1);
  CHECK(problems_of("<graphs version=\"1\"/>").size() == 1);
}

}  // namespace tsim::sim
