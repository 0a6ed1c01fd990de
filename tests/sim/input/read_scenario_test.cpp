#include "sim/input/read_scenario.hpp"

#include <doctest/doctest.h>

#include "tests/sim/input/inputs.hpp"

using namespace tsim;
using namespace tsim::sim;
using models::DType;

TEST_CASE("what a scenario leaves out has the documented default") {
  const Scenario s = read_with({}).base;
  CHECK(s.name == "s");  // the file's
  CHECK(s.workload.training);
  CHECK(s.workload.dropout);
  CHECK(s.strategy.schedule == "1f1b");
  CHECK(s.strategy.split == strategies::LayerSplit::balanced);
  CHECK(s.strategy.recompute == strategies::Recompute::none);
  CHECK(s.strategy.fusion == models::Fusion::framework);
  CHECK(s.strategy.optimizer == strategies::Optimizer::adam);
  CHECK(s.strategy.zero.stage == 0);
  CHECK(s.strategy.overlap_gradients);
  CHECK(s.strategy.bucket == Bytes{25 * 1024 * 1024});
  CHECK(s.strategy.first_bucket == Bytes{1024 * 1024});
  CHECK(s.strategy.order == "tp-cp-dp-pp");
  CHECK(s.strategy.collective == "auto");
  CHECK(s.strategy.precision == strategies::Precision{});
  CHECK(s.fold == Fold::automatic);
  CHECK(s.allowance == 0.0);
}

TEST_CASE("every key that is given is taken") {
  const Scenario s =
      read_with({"/name=title", "/description=why", "/assumptions=[\"a\", \"b\"]", "/fold=none",
                 "/memory_allowance=0.1", "/workload/dropout=false", "/strategy/schedule=gpipe",
                 "/strategy/recompute=selective", "/strategy/fusion=full",
                 "/strategy/flash_attention=true", "/strategy/optimizer=lamb",
                 "/strategy/overlap_gradients=false", "/strategy/bucket=8 MB",
                 "/strategy/first_bucket=1 KiB", "/strategy/scatter_gather=true",
                 "/strategy/collective=ring", "/strategy/overlap_tensor=false"})
          .base;
  CHECK(s.name == "title");
  CHECK(s.description == "why");
  CHECK(s.assumptions == Texts{"a", "b"});
  CHECK(s.fold == Fold::none);
  CHECK(s.allowance == 0.1);
  CHECK_FALSE(s.workload.dropout);
  CHECK(s.strategy.schedule == "gpipe");
  CHECK(s.strategy.recompute == strategies::Recompute::selective);
  CHECK(s.strategy.fusion == models::Fusion::full);
  CHECK(s.strategy.flash_attention);
  CHECK(s.strategy.optimizer == strategies::Optimizer::lamb);
  CHECK_FALSE(s.strategy.overlap_gradients);
  CHECK(s.strategy.bucket == Bytes{8'000'000});
  CHECK(s.strategy.first_bucket == Bytes{1024});
  CHECK(s.strategy.scatter_gather);
  CHECK(s.strategy.collective == "ring");
  CHECK_FALSE(s.strategy.overlap_tensor);
}

TEST_CASE("formats follow from the compute format") {
  const auto precision = [](const Texts& overrides) {
    return read_with(overrides).base.strategy.precision;
  };
  CHECK(precision({"/precision/compute=bf16"}) ==
        strategies::Precision{DType::bf16, DType::bf16, true, DType::fp32, DType::bf16});
  CHECK(precision({"/precision/compute=fp32"}) ==
        strategies::Precision{DType::fp32, DType::fp32, false, DType::fp32, DType::fp32});
  CHECK(precision({"/precision/compute=tf32"}) ==
        strategies::Precision{DType::tf32, DType::fp32, false, DType::fp32, DType::fp32});
  CHECK(precision({"/precision/compute=bf16", "/precision/gradient=fp32"}) ==
        strategies::Precision{DType::bf16, DType::fp32, true, DType::fp32, DType::fp32});
}

TEST_CASE("unknown keys are errors at every level, with the nearest known key") {
  CHECK(problems_with({"/worklod=1"}) ==
        Texts{"/worklod: unknown key; hint: did you mean \"workload\"?"});
  CHECK(problems_with({"/strategy/pipeline_parallel=1"}) ==
        Texts{"/strategy/pipeline_parallel: unknown key; hint: did you mean \"pipeline\"?"});
  CHECK(problems_with({"/cluster/network/bandwith=1"}) ==
        Texts{"/cluster/network/bandwith: unknown key; hint: did you mean \"bandwidth\"?"});
  CHECK(problems_with({"/precision/xyzzy=1"}) ==
        Texts{"/precision/xyzzy: unknown key; hint: keys here are compute, weights, gradient, "
              "gradient_copy, reduction, master_weights, master, moments, fp8_copies, fp8_scales, "
              "kept"});
}

TEST_CASE("names that are not known are errors with the nearest one") {
  CHECK(problems_with({"/strategy/schedule=1b1f"}) ==
        Texts{"/strategy/schedule: found \"1b1f\", expected one of naive, gpipe, 1f1b, pipedream, "
              "pipedream_2bw, interleaved, breadth_first, zb_h1, zb_h2, zb_v, zb_auto, chimera, "
              "hanayo, dualpipe, dualpipe_v, terapipe, depth_first; hint: did you mean \"1f1b\"?"});
  CHECK(
      problems_with({"/strategy/schedule=gpip"}) ==
      Texts{"/strategy/schedule: found \"gpip\", expected one of naive, gpipe, 1f1b, pipedream, "
            "pipedream_2bw, interleaved, breadth_first, zb_h1, zb_h2, zb_v, zb_auto, chimera, "
            "hanayo, dualpipe, dualpipe_v, terapipe, depth_first; hint: did you mean \"gpipe\"?"});
  CHECK(problems_with({"/fold=aut"}) ==
        Texts{"/fold: found \"aut\", expected one of auto, none; hint: did you mean \"auto\"?"});
}

TEST_CASE("layers that have to fit are dealt to stages of one chunk") {
  CHECK(read_with({"/strategy/layers=fitting"}).base.strategy.split ==
        strategies::LayerSplit::fitting);
  CHECK(problems_with(
            {"/strategy/layers=fitting", "/strategy/schedule=interleaved", "/strategy/chunks=2"}) ==
        Texts{"/strategy/layers: found \"fitting\" with 2 chunks a stage, expected one chunk a "
              "stage; hint: layers = \"balanced\""});
}

TEST_CASE("depth first is another name of the interleaved order") {
  const auto named = [](const char* name) {
    return read_with({std::string("/strategy/schedule=") + name, "/strategy/chunks=2"})
        .base.strategy;
  };
  CHECK(named("depth_first") == named("interleaved"));
}

TEST_CASE("counts that are no whole numbers in range are refused") {
  const auto batch = [](const char* value) {
    const Texts texts = problems_with({std::string("/workload/global_batch=") + value});
    return texts.size() == 1 ? texts[0] : "no single problem";
  };
  CHECK(batch("-1") == "/workload/global_batch: found -1, expected a whole number >= 1");
  CHECK(batch("0") == "/workload/global_batch: found 0, expected a whole number >= 1");
  CHECK(batch("1.5") == "/workload/global_batch: found 1.5, expected a whole number >= 1");
  CHECK(batch("null") == "/workload/global_batch: found null, expected a whole number >= 1");
  CHECK(batch("[]") == "/workload/global_batch: found a list, expected a whole number >= 1");
  CHECK(batch("18446744073709551615") ==
        "/workload/global_batch: found 18446744073709551615, expected a whole number from 1 to "
        "1000000000");
  CHECK(batch("1e300") ==
        "/workload/global_batch: found 1e+300, expected a whole number from 1 to 1000000000");
}

TEST_CASE("a whole number may be written with a fraction of zero") {
  CHECK(read_with({"/workload/global_batch=64.0"}).base.workload.global_batch == 64);
}

TEST_CASE("quantities without a usable unit are refused") {
  const auto bandwidth = [](const std::string& value) {
    const Texts texts = problems_with({"/cluster/network/bandwidth=" + value});
    return texts.size() == 1 ? texts[0] : "no single problem";
  };
  const std::string at = "/cluster/network/bandwidth: found ";
  const std::string rate = ", expected a rate with its unit, such as \"25 GB/s\" or \"200 Gb/s\"";
  CHECK(bandwidth("400") ==
        at + "400 (a number without a unit)" + rate + "; hint: \"400 GB/s\" or \"400 Gb/s\"");
  CHECK(bandwidth("null") == at + "null" + rate);
  CHECK(bandwidth("\"\"") == at + "an empty text" + rate);
  CHECK(bandwidth("\"400\"") == at + "\"400\"" + rate + "; hint: add the unit");
  CHECK(bandwidth("\"fast\"") == at + "\"fast\"" + rate);
  CHECK(bandwidth("\"400 GB\"") == at + "\"400 GB\"" + rate + "; hint: did you mean \"400 GB/s\"?");
  CHECK(bandwidth("\"-1 GB/s\"") == at + "\"-1 GB/s\", expected more than zero");
  CHECK(bandwidth("\"0 GB/s\"") == at + "\"0 GB/s\", expected more than zero");
  CHECK(bandwidth("\"1e30 GB/s\"") ==
        at + "\"1e30 GB/s\", expected something that exists; hint: check the unit");
  CHECK(bandwidth("true") == at + "true" + rate);
}

TEST_CASE("a network card given as 400 Gb/s, 50 GB/s or 46.57 GiB/s is accepted in silence") {
  for (const char* rate : {"400 Gb/s", "50 GB/s", "46.57 GiB/s"}) {
    CAPTURE(rate);
    CHECK(read_with({std::string("/cluster/network/bandwidth=") + rate}).base.warnings == Texts{});
  }
}

TEST_CASE("a network card of 400 GB/s is accepted with a warning") {
  CHECK(read_with({"/cluster/network/bandwidth=400 GB/s"}).base.warnings ==
        Texts{"/cluster/network/bandwidth: 400 GB/s is 4 times the fastest network card there is "
              "(800 Gb/s); hint: did you mean \"400 Gb/s\"?"});
}

TEST_CASE("a latency may be zero but not negative") {
  CHECK(problems_with({"/cluster/network/latency=0 us"}) == Texts{});
  CHECK(problems_with({"/cluster/network/latency=-1 us"}) ==
        Texts{"/cluster/network/latency: found \"-1 us\", expected zero or more"});
}

TEST_CASE("an empty object lacks a model, a workload and a cluster") {
  CHECK(problems_with({}, "{}") ==
        Texts{"/model: found nothing, expected a model's name, the path of a Hugging Face "
              "config.json, or an object",
              "/workload: found nothing, expected an object with global_batch and micro_batch",
              "/cluster: found nothing, expected an object or the path of a cluster file"});
}

TEST_CASE("parts of the wrong type are told once, not key by key") {
  CHECK(problems_with({"/workload=5", "/strategy=[]"}) ==
        Texts{"/workload: found 5, expected an object",
              "/strategy: found a list, expected an object"});
  CHECK(problems_with({}, "[]") == Texts{"found a list, expected an object"});
}

TEST_CASE("a scenario file that does not exist is told by name") {
  CHECK_THROWS_WITH(read_scenario_file("no/such.json"),
                    "no/such.json: 1 problem, nothing was simulated\n  no such file");
}

TEST_CASE("variants are the scenario with some values set") {
  const ScenarioFile file =
      read_with({R"(/compare=[{"name": "t1", "set": {"/strategy/tensor": 1, "/strategy/data": 8}},
                    {"name": "gpipe", "set": {"/strategy/schedule": "gpipe"}}])"});
  REQUIRE(file.variants.size() == 2);
  CHECK(file.variants[0].name == "t1");
  CHECK(file.variants[0].scenario.strategy.data == 8);
  CHECK(file.variants[0].scenario.strategy.schedule == "1f1b");
  CHECK(file.variants[1].scenario.strategy.schedule == "gpipe");
  CHECK(file.base.strategy.tensor == 4);
}

TEST_CASE("a variant's problems carry its place in the list") {
  CHECK(problems_with({R"(/compare=[{"name": "a", "set": {"/strategy/data": 3}},
                                    {"name": "a", "set": {"/strategy/zero": 7}},
                                    {"set": {}}, {"name": "d", "set": {"strategy": 1}}])"}) ==
        Texts{"/compare/0/strategy: found tensor*pipeline*data = 4*4*3 = 48, expected 32 (devices "
              "in /cluster); hint: data = 2 gives 32",
              "/compare/0/workload/global_batch: found 64, expected a multiple of "
              "micro_batch*data = 2*3 = 6; hint: nearest valid: 60 or 66",
              "/compare/1: found a second variant named \"a\", expected names that differ",
              "/compare/2/name: found nothing, expected a text",
              "/compare/2/set: found an empty object, expected an object such as "
              "{\"/strategy/tensor\": 4}",
              "/compare/3/set: found \"strategy\", expected a JSON pointer such as "
              "\"/strategy/tensor\""});
}

TEST_CASE("a problem of the scenario itself is not repeated for each variant") {
  CHECK(problems_with(
            {"/strategy/zero=5", R"(/compare=[{"name": "a", "set": {"/strategy/tensor": 2}}])"})
            .size() == 2);
}
