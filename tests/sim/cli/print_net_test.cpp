#include "sim/cli/print_net.hpp"

#include <doctest/doctest.h>

#include <sstream>

#include "sim/cli/options.hpp"
#include "tests/cost/clusters.hpp"

using namespace tsim;
using namespace tsim::literals;
using namespace tsim::cli;
using cost::CollectiveOp;
using doctest::Approx;

namespace {

/// Two ranks on wires of 1 GB/s without latency: a message of 1 MB takes 1 ms.
struct Small {
  cost::testing::Bench bench{cost::testing::nvswitch_node(2, {1e9}, {0})};
  sim::NetRequest request{{CollectiveOp::send_recv, "auto", {0, 1}}, false, {}};
  NetAnswer answer() {
    bench.cluster.name = "small & <simple>";
    NetAnswer a{&bench.cluster, &request, "send_recv", {{"auto", {}}}, false};
    a.series[0].rows.push_back(net_row(request, 1_MB, bench.router));
    return a;
  }
};

std::string printed(const NetAnswer& answer, void (*print)(const NetAnswer&, std::ostream&)) {
  std::ostringstream out;
  print(answer, out);
  return out.str();
}

}  // namespace

// The rows of nccl-tests' logs: 8 bytes of an all-reduce are 2 floats, 32 of an all-gather over 8
// ranks one from each.
TEST_CASE("elements are counted as nccl-tests counts them") {
  CHECK(element_count(CollectiveOp::all_reduce, 8_B, 8) == 2);
  CHECK(element_count(CollectiveOp::all_gather, 32_B, 8) == 1);
  CHECK(element_count(CollectiveOp::all_to_all, 32_B, 8) == 1);
  CHECK(element_count(CollectiveOp::broadcast, 1_MiB, 8) == 262144);
}

TEST_CASE("a row has the time in microseconds and rates in GB/s") {
  Small small;
  const std::string text = printed(small.answer(), print_net_text);
  CHECK(
      text.find("     1000000        250000     float    none      -1   1000.0    1.00    1.00") !=
      std::string::npos);
  CHECK(text.find("# Bottleneck           : node0/gpu0 -> node0/nvswitch and 1 like it, 100.0 % "
                  "used at 976.6 KiB") != std::string::npos);
  CHECK(printed(small.answer(), print_net_csv) ==
        "size_bytes,count,type,redop,root,time_us,algbw_GBps,busbw_GBps,algorithm,protocol\n"
        "1000000,250000,float,none,-1,1000.00,1.00000,1.00000,direct,simple\n");
}

TEST_CASE("links are listed by what they are used, idle ones not at all") {
  Small small;
  const NetAnswer answer = small.answer();
  const auto uses = link_uses(answer.series[0].rows[0], small.bench.cluster.topology);
  REQUIRE(uses.size() == 2);
  CHECK(uses[0].bytes == Approx(1e6));
  CHECK(uses[0].utilisation == Approx(1.0));
}

TEST_CASE("a plot is SVG with a line for every algorithm, names escaped") {
  Small small;
  NetAnswer answer = small.answer();
  answer.series.push_back(answer.series[0]);
  const std::string svg = printed(answer, print_net_svg);
  CHECK(svg.starts_with("<svg "));
  CHECK(svg.ends_with("</svg>\n"));
  CHECK(svg.find("small &amp; &lt;simple&gt;") != std::string::npos);
  std::size_t lines = 0;
  for (std::size_t at = svg.find("<polyline"); at != std::string::npos;
       at = svg.find("<polyline", at + 1)) {
    ++lines;
  }
  CHECK(lines == 4);  // two algorithms, time and rate
}

TEST_CASE("net and jobs take their options") {
  const Command net =
      parse_options({"net", "c.json", "--op", "barrier", "--ranks", "0-3", "--compare", "ring,tree",
                     "--with", "send_recv:0,1:1MiB", "--fidelity", "steps", "--links", "--csv"});
  REQUIRE(std::holds_alternative<NetOptions>(net));
  const auto& options = std::get<NetOptions>(net);
  CHECK(options.cluster == "c.json");
  CHECK(options.compare == std::vector<std::string>{"ring", "tree"});
  CHECK(options.with == std::vector<std::string>{"send_recv:0,1:1MiB"});
  CHECK(options.fidelity == "steps");
  CHECK(options.links);
  const Command jobs =
      parse_options({"jobs", "c", "a.json", "b.json", "--ranks", "0-3", "--ranks", "4-7"});
  REQUIRE(std::holds_alternative<JobsOptions>(jobs));
  CHECK(std::get<JobsOptions>(jobs).scenarios.size() == 2);
  CHECK(std::get<JobsOptions>(jobs).ranks == std::vector<std::string>{"0-3", "4-7"});
  CHECK(std::holds_alternative<Message>(parse_options({"net", "c", "--op", "all_reduc"})));
  CHECK(std::holds_alternative<Message>(parse_options({"net", "c", "--csv", "--json"})));
}
