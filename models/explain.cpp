#include "models/explain.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "models/fused_graph.hpp"

namespace tsim::models {
namespace {

/// The group whose row shows a kept tensor: its first user, else its maker, else the first.
std::map<TensorId, std::size_t> first_users(const FusedGraph& f) {
  std::map<TensorId, std::size_t> user;
  for (std::size_t g = 0; g < f.groups.size(); ++g) {
    for (const OpId id : f.groups[g]) {
      for (const TensorId t : f.op(id).saved) {
        user.emplace(f.fusion == Fusion::full ? stored_instead(f, t) : t, g);
      }
    }
  }
  for (const TensorId t : saved_tensors(f.graph, f.fusion)) {
    const OpId producer = f.tensor(t).producer;
    user.emplace(t, producer == kNoOp ? 0 : f.group(producer));
  }
  return user;
}

std::string joined_name(const FusedGraph& f, const std::vector<OpId>& group) {
  std::string name;
  for (const OpId id : group) { name += (name.empty() ? "" : " + ") + f.op(id).name; }
  return name;
}

/// Those of tensors that blocks share are counted once.
std::int64_t parameters_of(const FusedGraph& f, const std::vector<OpId>& group,
                           std::set<std::string>& seen_tied) {
  std::int64_t parameters = 0;
  for (const OpId id : group) {
    for (const Operand& w : f.op(id).weights) {
      const Tensor& t = f.tensor(w.tensor);
      const bool shared = t.name == "embedding.word" || t.name == "head.weight";
      const bool repeated = shared && !seen_tied.insert(t.name).second;
      parameters += repeated ? 0 : elements(t.shape);
    }
  }
  return parameters;
}

BlockRow explain_block(const Block& block, Fusion fusion, std::set<std::string>& seen_tied) {
  const FusedGraph f = fused_graph(block.graph, fusion);
  const BlockKernels all = kernels(block.graph, fusion);
  BlockRow out{.kind = block.kind, .name = block.name, .count = block.count, .kernels = {}};
  for (std::size_t g = 0; g < f.groups.size(); ++g) {
    const Kernel& forward = all.forward[g];
    KernelRow row{.name = joined_name(f, f.groups[g]),
                  .kind = forward.kind,
                  .cls = forward.cls,
                  .part = forward.part,
                  .saved = {},
                  .forward = {forward},
                  .backward = {}};
    row.parameters = parameters_of(f, f.groups[g], seen_tied);
    out.kernels.push_back(std::move(row));
  }
  for (const auto* list : {&all.backward_input, &all.backward_weight}) {
    for (const Kernel& k : *list) { out.kernels[f.group(k.ops.front())].backward.push_back(k); }
  }
  const std::map<TensorId, std::size_t> user = first_users(f);
  for (const TensorId t : saved_tensors(block.graph, fusion)) {
    out.kernels[user.at(t)].saved += size_of(f.tensor(t));
  }
  return out;
}

void add_classes(const BlockRow& block, std::array<ClassShare, 3>& classes) {
  for (const KernelRow& row : block.kernels) {
    for (const auto* list : {&row.forward, &row.backward}) {
      for (const Kernel& k : *list) {
        ClassShare& share = classes[static_cast<std::size_t>(k.cls)];
        share.kernels += block.count;
        share.flops += block.count * k.flops;
        share.bytes += block.count * k.bytes;
      }
    }
  }
}

void add_shares(std::array<ClassShare, 3>& classes) {
  Flops flops;
  Bytes bytes;
  for (const ClassShare& c : classes) {
    flops += c.flops;
    bytes += c.bytes;
  }
  for (ClassShare& c : classes) {
    c.flops_share = c.flops / flops;
    c.bytes_share = to_double(c.bytes) / to_double(bytes);
  }
}

}  // namespace

Flops flops(const std::vector<Kernel>& kernels) {
  Flops sum;
  for (const Kernel& k : kernels) { sum += k.flops; }
  return sum;
}

Bytes bytes(const std::vector<Kernel>& kernels) {
  Bytes sum;
  for (const Kernel& k : kernels) { sum += k.bytes; }
  return sum;
}

Explanation explain(const Model& model, Fusion fusion) {
  Explanation out{.blocks = {},
                  .classes = {ClassShare{.cls = OpClass::contraction},
                              ClassShare{.cls = OpClass::normalization},
                              ClassShare{.cls = OpClass::elementwise}},
                  .parameters = parameters(model.config),
                  .trained_parameters = trained_parameters(model.config),
                  .active_parameters = active_parameters(model.config),
                  .model_flops = forward_model_flops(model),
                  .training_flops = training_model_flops(model),
                  .saved = {}};
  std::set<std::string> seen_tied;
  for (const Block& block : model.blocks) {
    out.blocks.push_back(explain_block(block, fusion, seen_tied));
    add_classes(out.blocks.back(), out.classes);
    for (const KernelRow& row : out.blocks.back().kernels) { out.saved += block.count * row.saved; }
  }
  add_shares(out.classes);
  return out;
}

}  // namespace tsim::models
