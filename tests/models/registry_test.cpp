// What holds for every model, however it is run.
#include "models/registry.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "models/kernel.hpp"

using namespace tsim;
using namespace tsim::models;

namespace {

const std::vector<BuildOptions>& ways() {
  static const std::vector<BuildOptions> all{
      {},
      {.micro_batch = 2, .flash_attention = true},
      {.micro_batch = 3, .compute = DType::fp32, .dropout = false},
      {.micro_batch = 1, .compute = DType::bf16, .loss = false}};
  return all;
}

ModelConfig variant(const char* name, const char* new_name, auto change) {
  ModelConfig config = *model_named(name);
  config.name = new_name;
  change(config);
  return config;
}

/// One model of every series (the others differ in sizes alone), and settings that none has.
const std::vector<ModelConfig>& structures() {
  static const std::vector<ModelConfig> all = [] {
    std::vector<ModelConfig> found;
    for (const char* name : {"bert-base", "gpt2", "gpt-neox-20b", "bloom-176b", "pangu-alpha-2.6b",
                             "llama2-70b", "transformer-base", "t5-11b", "vit-h14"}) {
      found.push_back(*model_named(name));
    }
    found.push_back(variant("bert-base", "BERT, whole head",
                            [](ModelConfig& c) { c.head_transform = c.head_bias = true; }));
    found.push_back(variant("bert-base", "BERT, classes", [](ModelConfig& c) {
      c.head = false;
      c.classes = 3;
    }));
    found.push_back(variant("llama3-8b", "Llama, query and key norms",
                            [](ModelConfig& c) { c.qk_norm = c.qkv_bias = true; }));
    found.push_back(variant("t5-small", "T5 v1.1", [](ModelConfig& c) {
      c.activation = Activation::geglu;
      c.tied_embedding = false;
      c.dropout = 0;
    }));
    found.push_back(variant("gpt2", "GPT-2, gated with biases", [](ModelConfig& c) {
      c.activation = Activation::swiglu;
      c.layers = 1;
    }));
    return found;
  }();
  return all;
}

/// Calls `check(model, block)` for every block of every structure run in every way.
template <class Check>
void for_every_block(Check check) {
  for (const ModelConfig& config : structures()) {
    for (const BuildOptions& options : ways()) {
      const Model model = build_model(config, options);
      for (const Block& block : model.blocks) {
        CAPTURE(config.name);
        CAPTURE(block.name);
        check(model, block);
      }
    }
  }
}

const Tensor& tensor(const OpGraph& g, TensorId id) {
  return g.tensors.at(static_cast<std::size_t>(id));
}

bool operates_on(const Op& op, TensorId id) {
  const auto is_it = [id](const Operand& o) { return o.tensor == id; };
  return std::ranges::any_of(op.inputs, is_it) || std::ranges::any_of(op.outputs, is_it);
}

bool is_sharded(const Shape& space) {
  return std::ranges::any_of(
      std::vector{Axis::qkv, Axis::heads, Axis::kv_heads, Axis::ffn, Axis::gate_ffn, Axis::vocab},
      [&](Axis a) { return has_axis(space, a); });
}

struct Work {
  std::int64_t bytes = 0, kernels = 0;
};
Work work(const OpGraph& graph, Fusion fusion) {
  const BlockKernels all = kernels(graph, fusion);
  Work w;
  for (const auto* list : {&all.forward, &all.backward_input, &all.backward_weight}) {
    for (const Kernel& k : *list) { w.bytes += k.bytes.value; }
    w.kernels += static_cast<std::int64_t>(list->size());
  }
  return w;
}

constexpr Fusion kFusions[] = {Fusion::none, Fusion::framework, Fusion::full};

}  // namespace

TEST_CASE("every model has a name of its own, a source and no problem") {
  std::set<std::string> names;
  for (const ModelConfig& config : registry()) {
    CAPTURE(config.name);
    CHECK(names.insert(config.name).second);
    CHECK_FALSE(config.source.empty());
    CHECK(problems(config).empty());
    CHECK(model_named(config.name) == config);
  }
  CHECK_FALSE(model_named("bert").has_value());
}

TEST_CASE("operators come after their producers and keep only what they read or write") {
  for_every_block([](const Model&, const Block& block) {
    const OpGraph& g = block.graph;
    for (std::size_t i = 0; i < g.ops.size(); ++i) {
      const Op& op = g.ops[i];
      CAPTURE(op.name);
      for (const Operand& in : op.inputs) {
        CHECK(tensor(g, in.tensor).producer < static_cast<OpId>(i));
      }
      for (const Operand& out : op.outputs) {
        CHECK(tensor(g, out.tensor).producer == static_cast<OpId>(i));
      }
      for (const TensorId t : op.saved) { CHECK(operates_on(op, t)); }
    }
  });
}

TEST_CASE("operands are no larger than their tensors, weights are trained tensors") {
  for_every_block([](const Model&, const Block& block) {
    const OpGraph& g = block.graph;
    for (const Op& op : g.ops) {
      CAPTURE(op.name);
      for (const auto* operands : {&op.inputs, &op.outputs}) {
        for (const Operand& o : *operands) {
          CHECK(elements(o.shape) <= elements(tensor(g, o.tensor).shape));
          CHECK(tensor(g, o.tensor).role != Role::weight);
        }
      }
      for (const Operand& w : op.weights) { CHECK(tensor(g, w.tensor).role == Role::weight); }
    }
  });
}

TEST_CASE("an operator's space is its output's axes and the reduced ones") {
  for_every_block([](const Model&, const Block& block) {
    for (const Op& op : block.graph.ops) {
      CAPTURE(op.name);
      CHECK(model_flops(op).value >= 0);
      CHECK(op.executed > 0);
      CHECK(op.executed <= 1);
      if (op.cls == OpClass::normalization || op.kind == OpKind::rotary) { continue; }
      Shape kept(op.space.begin(), op.space.end() - op.reduced);
      Shape out = op.outputs.front().shape;
      if (op.kind == OpKind::flash_attention) {
        // Queries and heads, whatever the order in memory, without the width of a head.
        kept.push_back(op.space.back());
      }
      CHECK(elements(kept) == elements(out));
      if (op.cls == OpClass::contraction) {
        CHECK(op.flops_per_point == (op.kind == OpKind::flash_attention ? 4 : 2));
      }
    }
  });
}

TEST_CASE("every weight is used, every tensor has a name of its own in its block") {
  for_every_block([](const Model&, const Block& block) {
    std::set<std::string> names;
    std::set<TensorId> used;
    for (const Op& op : block.graph.ops) {
      for (const Operand& w : op.weights) { used.insert(w.tensor); }
    }
    for (std::size_t t = 0; t < block.graph.tensors.size(); ++t) {
      const Tensor& tensor = block.graph.tensors[t];
      CAPTURE(tensor.name);
      CHECK(names.insert(tensor.name).second);
      CHECK((tensor.role == Role::weight) == used.contains(static_cast<TensorId>(t)));
    }
  });
}

TEST_CASE("blocks form a chain: what one hands on fits what the next takes") {
  for_every_block([](const Model& model, const Block& block) {
    const auto next = static_cast<std::size_t>(&block - model.blocks.data()) + 1;
    if (next == model.blocks.size()) { return; }
    const OpGraph& taker = model.blocks[next].graph;
    REQUIRE(block.graph.output >= 0);
    REQUIRE(taker.input >= 0);
    CHECK(tensor(block.graph, block.graph.output).shape == tensor(taker, taker.input).shape);
  });
}

TEST_CASE("inside the tensor-parallel region operators have a sharded axis, outside none") {
  for_every_block([](const Model&, const Block& block) {
    for (const Op& op : block.graph.ops) {
      CAPTURE(op.name);
      const bool pooled = has_axis(op.space, Axis::pooled) || has_axis(op.space, Axis::classes);
      const bool stream =
          !pooled && has_axis(op.space, Axis::sequence) && has_axis(op.space, Axis::hidden);
      if (op.part == Part::norm || op.part == Part::residual) {
        CHECK_FALSE(is_sharded(op.space));
        CHECK(stream);
        CHECK(op.space.size() == 3);
      }
      if (op.part == Part::attention_core) { CHECK(is_sharded(op.space)); }
      CHECK((is_sharded(op.space) || stream || pooled));
    }
  });
}

TEST_CASE("every operator is in one group, groups are in order, contractions take biases only") {
  for_every_block([](const Model&, const Block& block) {
    const OpGraph& g = block.graph;
    for (const Fusion fusion : kFusions) {
      std::set<OpId> seen;
      for (const std::vector<OpId>& group : fuse(g, fusion)) {
        const std::set<OpId> members(group.begin(), group.end());
        for (const OpId id : group) {
          const Op& op = g.ops[static_cast<std::size_t>(id)];
          for (const Operand& in : op.inputs) {
            const OpId producer = tensor(g, in.tensor).producer;
            CHECK((producer == kNoOp || seen.contains(producer) || members.contains(producer)));
          }
          const bool first = id == group.front();
          CHECK((first || op.cls != OpClass::contraction));
          const Op& head = g.ops[static_cast<std::size_t>(group.front())];
          CHECK((first || head.cls != OpClass::contraction || op.kind == OpKind::bias));
        }
        for (const OpId id : group) { CHECK(seen.insert(id).second); }
      }
      CHECK(seen.size() == g.ops.size());
    }
  });
}

TEST_CASE("more fusion never moves more bytes, launches more kernels or keeps more") {
  for_every_block([](const Model&, const Block& block) {
    const Work none = work(block.graph, Fusion::none);
    const Work framework = work(block.graph, Fusion::framework);
    const Work full = work(block.graph, Fusion::full);
    CHECK(framework.bytes <= none.bytes);
    CHECK(full.bytes <= framework.bytes);
    CHECK(framework.kernels <= none.kernels);
    CHECK(full.kernels <= framework.kernels);
    const auto kept = [&](Fusion fusion) {
      Bytes sum;
      for (const TensorId t : saved_tensors(block.graph, fusion)) {
        sum += size_of(tensor(block.graph, t));
      }
      return sum;
    };
    CHECK(kept(Fusion::none) == saved_bytes(block.graph));
    CHECK(kept(Fusion::framework) == kept(Fusion::none));
    CHECK(kept(Fusion::full) <= kept(Fusion::framework));
  });
}

TEST_CASE("fusion changes no contraction") {
  for_every_block([](const Model&, const Block& block) {
    const auto products = [&](Fusion fusion) {
      std::multiset<std::vector<std::int64_t>> found;
      const BlockKernels all = kernels(block.graph, fusion);
      for (const auto* list : {&all.forward, &all.backward_input, &all.backward_weight}) {
        for (const Kernel& k : *list) {
          if (k.cls == OpClass::contraction) { found.insert({k.batch, k.m, k.n, k.k}); }
        }
      }
      return found;
    };
    CHECK(products(Fusion::none) == products(Fusion::framework));
    CHECK(products(Fusion::none) == products(Fusion::full));
  });
}

TEST_CASE("a contraction's kernel has the FLOPs of its matrices") {
  for_every_block([](const Model&, const Block& block) {
    const BlockKernels all = kernels(block.graph, Fusion::none);
    for (const auto* list : {&all.forward, &all.backward_input, &all.backward_weight}) {
      for (const Kernel& k : *list) {
        CAPTURE(k.name);
        CHECK(k.bytes.value > 0);
        const bool product = k.kind == OpKind::matmul || k.kind == OpKind::attention_matmul;
        CHECK((k.m > 0) == (k.cls == OpClass::contraction));
        if (product) {
          CHECK(k.flops.value == doctest::Approx(2.0 * static_cast<double>(k.batch * k.m) *
                                                 static_cast<double>(k.n * k.k)));
        }
      }
    }
  });
}

TEST_CASE("every operator with weights has a backward kernel") {
  for_every_block([](const Model&, const Block& block) {
    const BlockKernels all = kernels(block.graph, Fusion::none);
    std::set<OpId> covered;
    for (const auto* list : {&all.backward_input, &all.backward_weight}) {
      for (const Kernel& k : *list) { covered.insert(k.ops.begin(), k.ops.end()); }
    }
    for (std::size_t i = 0; i < block.graph.ops.size(); ++i) {
      const Op& op = block.graph.ops[i];
      CAPTURE(op.name);
      if (!op.weights.empty()) { CHECK(covered.contains(static_cast<OpId>(i))); }
    }
  });
}

TEST_CASE("the batch scales activations and nothing else") {
  for (const ModelConfig& config : structures()) {
    CAPTURE(config.name);
    const Model one = build_model(config, {.micro_batch = 1});
    const Model four = build_model(config, {.micro_batch = 4});
    CHECK(forward_model_flops(four).value ==
          doctest::Approx(4 * forward_model_flops(one).value).epsilon(1e-12));
    for (std::size_t b = 0; b < one.blocks.size(); ++b) {
      CHECK(parameters(one.blocks[b].graph) == parameters(four.blocks[b].graph));
    }
  }
}
