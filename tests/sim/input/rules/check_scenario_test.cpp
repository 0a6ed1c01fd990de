// Rules between the parts; letters and figures as users reported them.
#include "sim/input/rules/check_scenario.hpp"

#include <doctest/doctest.h>

#include "tests/sim/input/inputs.hpp"

using namespace tsim::sim;

TEST_CASE("the right scenario is right") {
  CHECK(problems_with({}) == Texts{});
  const Scenario s = read_with({}).base;
  CHECK(micro_batches(s) == 16);  // 64 / (2 * 2)
  CHECK(s.warnings == Texts{});
}

TEST_CASE("tensor must divide the heads: 28 heads over 8 lists the divisors") {
  CHECK(problems_with({"/strategy/tensor=8", "/strategy/data=1"}) ==
        Texts{"/strategy/tensor: found 8, expected a divisor of 28 (attention heads of the model): "
              "1, 2, 4, 7, 14, 28; hint: the pipeline degree has no such rule"});
}

TEST_CASE("52 heads over 8 and 64 heads over 3 are refused too") {
  CHECK(problems_with(
            {"/model/heads=52", "/model/hidden=6656", "/strategy/tensor=8", "/strategy/data=1"}) ==
        Texts{"/strategy/tensor: found 8, expected a divisor of 52 (attention heads of the model): "
              "1, 2, 4, 13, 26, 52; hint: the pipeline degree has no such rule"});
  CHECK(problems_with(
            {"/model/heads=64", "/model/hidden=4608", "/strategy/tensor=3", "/cluster/nodes=3"}) ==
        Texts{"/strategy/tensor: found 3, expected a divisor of 64 (attention heads of the model): "
              "1, 2, 4, 8, 16, 32, 64; hint: the pipeline degree has no such rule"});
}

TEST_CASE("a pipeline of 7 stages needs no divisor of the heads") {
  CHECK(problems_with({"/strategy/tensor=1", "/strategy/pipeline=7", "/strategy/data=1",
                       "/cluster/nodes=7", "/cluster/devices_per_node=1"}) == Texts{});
}

TEST_CASE("tensor must divide the key/value heads, or be a multiple of them") {
  CHECK(problems_with({"/model/kv_heads=4", "/strategy/tensor=7", "/cluster/nodes=7"}) ==
        Texts{"/strategy/tensor: found 7, expected a divisor of 4 (key/value heads of the model): "
              "1, 2, 4; hint: the pipeline degree has no such rule"});
  const Scenario s = read_with({"/model/kv_heads=2"}).base;
  CHECK(s.warnings == Texts{"/strategy/tensor: 4 ranks share 2 key/value heads: each is held more "
                            "than once"});
}

TEST_CASE("tensor must divide the width of the MLP") {
  CHECK(problems_with({"/model/ffn=10"}) ==
        Texts{"/strategy/tensor: found 4, expected a divisor of 10 (ffn of the model): "
              "1, 2, 5, 10; hint: the pipeline degree has no such rule"});
}

TEST_CASE("degrees must multiply to the devices, and one that does is named") {
  CHECK(problems_with({"/strategy/data=3", "/workload/global_batch=66"}) ==
        Texts{"/strategy: found tensor*pipeline*data = 4*4*3 = 48, expected 32 (devices in "
              "/cluster); hint: data = 2 gives 32"});
  CHECK(problems_with({"/strategy/data=1", "/strategy/pipeline=1", "/strategy/tensor=28"}) ==
        Texts{"/strategy: found tensor*pipeline*data = 28*1*1 = 28, expected 32 (devices in "
              "/cluster); hint: tensor = 32 gives 32"});
}

TEST_CASE("degrees of a million each do not overflow") {
  const Texts texts = problems_with(
      {"/strategy/tensor=1000000", "/strategy/pipeline=1000000", "/strategy/data=1000000"});
  REQUIRE(texts.size() >= 1);
  CHECK(texts[0] ==
        "/strategy: found tensor*pipeline*data = 1000000*1000000*1000000 = "
        "1000000000000000000, expected 32 (devices in /cluster)");
}

TEST_CASE("a batch of 32 over 23 replicas is refused with 23 and 46") {
  // world 1472 = 8 * 8 * 23
  CHECK(problems_with({"/model/heads=32", "/model/hidden=4096", "/strategy/tensor=8",
                       "/strategy/pipeline=8", "/strategy/data=23", "/cluster/nodes=184",
                       "/workload/global_batch=32", "/workload/micro_batch=1"}) ==
        Texts{"/workload/global_batch: found 32, expected a multiple of micro_batch*data = "
              "1*23 = 23; hint: nearest valid: 23 or 46"});
}

TEST_CASE("a batch of 256 in micro-batches of 2 over 7 replicas is refused with 252 and 266") {
  CHECK(problems_with({"/strategy/tensor=1", "/strategy/pipeline=1", "/strategy/data=7",
                       "/cluster/nodes=1", "/cluster/devices_per_node=7",
                       "/workload/global_batch=256"}) ==
        Texts{"/workload/global_batch: found 256, expected a multiple of micro_batch*data = "
              "2*7 = 14; hint: nearest valid: 252 or 266"});
}

TEST_CASE("a batch smaller than one micro-batch of each replica names only the next valid one") {
  CHECK(problems_with({"/workload/global_batch=3"}) ==
        Texts{"/workload/global_batch: found 3, expected a multiple of micro_batch*data = "
              "2*2 = 4; hint: nearest valid: 4"});
}

TEST_CASE("30 layers cannot be dealt evenly to 4 stages: nothing vanishes") {
  CHECK(problems_with({"/strategy/layers=even"}) ==
        Texts{"/strategy/layers: found \"even\" for 30 layers on 4 stages, expected stages that "
              "divide the layers (30 % 4 = 2); hint: \"balanced\", or a list such as "
              "[8, 8, 7, 7]"});
  CHECK(problems_with({"/strategy/layers=[7,8,8,7]"}) == Texts{});
  CHECK(problems_with({"/strategy/layers=balanced"}) == Texts{});
}

TEST_CASE("a list of layers has an entry for each stage and sums to the model's layers") {
  CHECK(problems_with({"/strategy/layers=[7,7,7,7]"}) ==
        Texts{"/strategy/layers: found layers that sum to 28, expected 30 (layers of the model); "
              "hint: for example [8, 8, 7, 7]"});
  CHECK(problems_with({"/strategy/layers=[10,20]"}) ==
        Texts{"/strategy/layers: found 2 entries, expected 4 (/strategy/pipeline), one for each "
              "stage"});
  CHECK(problems_with({"/strategy/layers=[15,15,0,0]"}) ==
        Texts{"/strategy/layers/2: found 0, expected a whole number >= 1",
              "/strategy/layers/3: found 0, expected a whole number >= 1"});
}

TEST_CASE("six layers on four stages may be given as [1, 2, 2, 1]") {
  const Scenario s = read_with({"/model/layers=6", "/strategy/layers=[1,2,2,1]"}).base;
  CHECK(s.strategy.split == tsim::strategies::LayerSplit::list);
  CHECK(s.strategy.layers_per_stage == std::vector<int>{1, 2, 2, 1});
}

TEST_CASE("more stages than layers are refused") {
  CHECK(problems_with({"/model/layers=3"}) ==
        Texts{"/strategy/pipeline: found 4 stages, expected at most 3 (layers of the model)"});
}

TEST_CASE("the vocabulary is padded up, never refused") {
  const auto padded = [](const char* vocab, const char* multiple, const char* tensor,
                         const char* heads) {
    const std::string t(tensor);
    const Scenario s =
        read_with({std::string("/model/vocab=") + vocab, std::string("/model/heads=") + heads,
                   "/model/hidden=3840", "/model/ffn=15360", "/strategy/tensor=" + t,
                   std::string("/workload/vocab_multiple=") + multiple, "/strategy/pipeline=1",
                   "/strategy/data=1", "/cluster/nodes=1", "/cluster/devices_per_node=" + t})
            .base;
    CHECK(s.unpadded_vocab == std::stoll(vocab));
    return s.model.vocab;
  };
  CHECK(padded("151552", "1", "6", "30") == 151554);
  CHECK(padded("151552", "128", "6", "30") == 152064);
  CHECK(padded("250680", "1024", "1", "30") == 250880);
  CHECK(padded("50257", "1", "2", "30") == 50258);
  CHECK(padded("151936", "1", "2", "30") == 151936);
}

TEST_CASE("a sequence longer than the learned positions is refused") {
  CHECK(problems_with({"/workload/sequence=2049"}) ==
        Texts{"/workload/sequence: found 2049, expected at most 2048 (learned positions of the "
              "model)"});
  CHECK(problems_with({"/workload/sequence=2049", "/model/positions=rotary"}) == Texts{});
}

TEST_CASE("sequence parallelism needs a sequence that the tensor degree divides") {
  CHECK(problems_with({"/workload/sequence=1022", "/strategy/sequence_parallel=true"}) ==
        Texts{"/workload/sequence: found 1022, expected a multiple of tensor = 4 with "
              "sequence_parallel; hint: nearest valid: 1020 or 1024"});
  CHECK(problems_with({"/workload/sequence=1022"}) == Texts{});
}

TEST_CASE("a vision model's sequence follows from its image") {
  const Texts vision{
      "/model={\"family\": \"vision\", \"layers\": 12, \"hidden\": 768, "
      "\"heads\": 12, \"image\": 224, \"patch\": 16}",
      "/workload/vocab_multiple=1"};
  CHECK(problems_with(vision) == Texts{});
  Texts with_sequence = vision;
  with_sequence.push_back("/workload/sequence=196");
  // (224/16)^2 patches and the class token
  CHECK(problems_with(with_sequence) ==
        Texts{"/workload/sequence: found 196, expected no sequence for a vision model; hint: its "
              "197 tokens follow from image and patch"});
  Texts sequence_parallel = vision;
  sequence_parallel.push_back("/strategy/sequence_parallel=true");
  CHECK(problems_with(sequence_parallel) ==
        Texts{"/strategy/sequence_parallel: found 197 tokens, expected a multiple of tensor = 4 "
              "with sequence_parallel; hint: sequence_parallel = false"});
}

TEST_CASE("a model without a sequence of its own needs the workload's") {
  const std::string model =
      "/model={\"family\": \"decoder\", \"layers\": 4, \"hidden\": 64, \"heads\": 4, \"vocab\": 9}";
  CHECK(problems_with({model}) ==
        Texts{"/workload/sequence: found nothing, expected a whole number >= 1, as the model "
              "states no sequence"});
  const Scenario s = read_with({model, "/workload/sequence=128"}).base;
  CHECK(s.model.sequence == 128);
  CHECK(s.model.max_positions == 128);
}

TEST_CASE("decoder_sequence belongs to encoder-decoders") {
  CHECK(problems_with({"/workload/decoder_sequence=64"}) ==
        Texts{"/workload/decoder_sequence: found 64, expected no decoder_sequence, as the model is "
              "no encoder-decoder"});
  CHECK(problems_with({"/workload/decoder_sequence=64", "/model/family=encoder_decoder"}) ==
        Texts{});
}

/// Four tensor ranks times eight replicas, without a pipeline.
static Texts replicated(const std::vector<std::string>& overrides) {
  std::vector<std::string> all{"/strategy/pipeline=1", "/strategy/data=8"};
  all.insert(all.end(), overrides.begin(), overrides.end());
  return problems_with(all);
}

TEST_CASE("states may be sharded, beside a pipeline beyond stage 1 only when asked for") {
  CHECK(replicated({"/strategy/zero=3"}) == Texts{});
  CHECK(problems_with({"/strategy/zero=1"}) == Texts{});
  CHECK(problems_with({"/strategy/zero=2"}) ==
        Texts{"/strategy/zero: found 2, expected 0 or 1 with pipeline = 4, as each micro-batch "
              "would communicate all gradients; hint: {\"stage\": 2, \"with_pipeline\": true} "
              "does it"});
  CHECK(problems_with({"/strategy/zero={\"stage\": 2, \"with_pipeline\": true}"}) == Texts{});
  CHECK(problems_with({"/strategy/zero=4"}) ==
        Texts{"/strategy/zero: found 4, expected a whole number from 0 to 3"});
}

TEST_CASE("keys of sharding belong to the stages that know them, and groups divide the replicas") {
  CHECK(replicated({"/strategy/zero={\"stage\": 1, \"secondary_group\": 2}"}) ==
        Texts{"/strategy/zero/secondary_group: found a value, expected nothing at stage 1; hint: "
              "stage 3 knows it"});
  CHECK(replicated({"/strategy/zero={\"stage\": 3, \"shard_group\": 3}"}) ==
        Texts{"/strategy/zero/shard_group: found 3, expected a divisor of 8 (replicas: "
              "data*context): 1, 2, 4, 8"});
  CHECK(replicated({"/strategy/zero={\"stage\": 3, \"prefech\": 2}"}) ==
        Texts{"/strategy/zero/prefech: unknown key; hint: did you mean \"prefetch\"?"});
  CHECK(replicated({"/strategy/zero=2", "/strategy/overlap_gradients=false"}) ==
        Texts{"/strategy/overlap_gradients: found false, expected true where each backward sends "
              "its gradients"});
  CHECK(replicated({"/strategy/overlap_parameters=true"}) ==
        Texts{"/strategy/overlap_parameters: found true, expected false with zero = 0; hint: it "
              "moves the all-gather of stages 1 and 2"});
}

TEST_CASE("context ranks divide the sequence, in a ring with flash attention only") {
  CHECK(problems_with({"/strategy/context=2", "/strategy/data=1"}) ==
        Texts{"/strategy/flash_attention: found false, expected true with context ranks in a "
              "ring, which add up parts of the softmax; hint: or context_attention "
              "\"all_gather\" or \"ulysses\""});
  CHECK(problems_with({"/strategy/context=2", "/strategy/data=1",
                       "/strategy/context_attention=all_gather", "/workload/sequence=1022"})
            .front() ==
        "/workload/sequence: found 1022, expected a multiple of 4 (context*2 with zigzag); hint: "
        "nearest valid: 1020 or 1024");
}

TEST_CASE("a forward pass has nothing to recompute") {
  CHECK(problems_with({"/workload/mode=forward", "/strategy/recompute=full"}) ==
        Texts{"/strategy/recompute: found \"full\", expected \"none\" with mode \"forward\", which "
              "keeps nothing to compute again"});
  CHECK_FALSE(read_with({"/workload/mode=forward"}).base.workload.training);
}

TEST_CASE("the rank order is a permutation of tp, dp and pp") {
  CHECK(read_with({"/strategy/order=pp-dp-tp"}).base.strategy.order == "pp-dp-tp");
  CHECK(problems_with({"/strategy/order=tp-pp"}) ==
        Texts{"/strategy/order: found \"tp-pp\", expected tp, dp, pp and perhaps cp, once each, "
              "joined by '-'; hint: \"tp-cp-dp-pp\""});
}

TEST_CASE("chunks need a schedule that interleaves, and that one whole rounds of micro-batches") {
  CHECK(problems_with({"/strategy/chunks=2"}) ==
        Texts{"/strategy/chunks: found 2, expected 1 with schedule \"1f1b\"; hint: schedule = "
              "\"interleaved\""});
  CHECK(problems_with({"/strategy/chunks=2", "/strategy/schedule=interleaved"}) == Texts{});
  // 40 / (2 * 2) = 10 micro-batches on 4 stages
  CHECK(problems_with({"/strategy/chunks=2", "/strategy/schedule=interleaved",
                       "/workload/global_batch=40"}) ==
        Texts{"/workload/global_batch: found 10 micro-batches in each pipeline, expected a "
              "multiple of pipeline = 4 with schedule \"interleaved\"; hint: nearest valid: 8 or "
              "12; or keep them, with micro_batch_group = 5"});
  CHECK(problems_with(
            {"/strategy/chunks=2", "/strategy/schedule=interleaved", "/strategy/layers=[15,15]"}) ==
        Texts{"/strategy/layers: found 2 entries, expected 8 (pipeline*chunks), one for each "
              "chunk"});
}

TEST_CASE("fewer micro-batches than stages are accepted with a warning") {
  // m = 1, p = 4: 3/4 of the iteration is idle.
  CHECK(read_with({"/workload/global_batch=4"}).base.warnings ==
        Texts{"/workload/global_batch: 1 micro-batch for 4 stages leave bubble_fraction "
              "(p-1)/(m+p-1) = 75.0 %"});
}

TEST_CASE("switches that do nothing are accepted with a warning") {
  const Texts single{"/strategy/tensor=1", "/strategy/pipeline=1", "/strategy/data=1",
                     "/cluster/nodes=1", "/cluster/devices_per_node=1"};
  const auto warnings = [&](const std::string& setting) {
    Texts overrides = single;
    overrides.push_back(setting);
    return read_with(overrides).base.warnings;
  };
  CHECK(warnings("/strategy/sequence_parallel=true") ==
        Texts{"/strategy/sequence_parallel: has no effect with tensor = 1"});
  CHECK(warnings("/strategy/zero=1") ==
        Texts{"/strategy/zero: has no effect with data = 1: states are sharded over replicas"});
  CHECK(warnings("/strategy/scatter_gather=true") ==
        Texts{"/strategy/scatter_gather: has no effect without tensor and pipeline > 1"});
  CHECK(warnings("/precision/compute=fp8") ==
        Texts{"/precision/compute: plain states no peak for fp8; the next wider format's is used"});
}

TEST_CASE("an iteration too large to count is refused") {
  const Texts texts =
      problems_with({"/workload/global_batch=1000000000", "/workload/micro_batch=500000000",
                     "/model/positions=rotary", "/workload/sequence=10000000"});
  CHECK(texts == Texts{"/workload: found more than 1e18 bytes of activations in an iteration, "
                       "expected something that can be simulated; hint: check global_batch and "
                       "sequence"});
}

TEST_CASE("a rule is not checked on a value that was not read") {
  CHECK(problems_with({"/strategy/tensor=0", "/workload/micro_batch=\"2\""}) ==
        Texts{"/workload/micro_batch: found \"2\" (text), expected a whole number >= 1; hint: "
              "remove the quotes",
              "/strategy/tensor: found 0, expected a whole number >= 1"});
}

TEST_CASE("several broken rules are told together") {
  CHECK(problems_with({"/strategy/tensor=8", "/workload/global_batch=31"}).size() == 3);
}

TEST_CASE("stages for an encoder alone need an encoder-decoder") {
  CHECK(problems_with({"/strategy/encoder_stages=1"}) ==
        Texts{"/strategy/encoder_stages: found 1, expected nothing, as the model is no "
              "encoder-decoder"});
}
