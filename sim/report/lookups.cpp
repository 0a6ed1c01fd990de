#include "sim/report/lookups.hpp"

#include <algorithm>
#include <map>

#include "cost/kernel_subject.hpp"
#include "strategies/block_chain.hpp"
#include "strategies/block_plan.hpp"
#include "strategies/memory.hpp"
#include "strategies/remade.hpp"

namespace tsim::sim {
namespace {

using models::Kernel;

/// Kernels gathered by what would be timed, or by name where nothing can be.
class Gathered {
 public:
  explicit Gathered(const cost::Device& device) : device_(device) {}

  void add(const Kernel& kernel, double runs) {
    const cost::KernelTime found = cost::kernel_lookup(kernel, device_);
    const std::optional<cost::Subject> subject = cost::subject_of(kernel);
    const std::string key = subject ? cost::line_of(*subject) : kernel.name;
    const auto [at, added] = rows_.try_emplace(
        {key, found.origin}, Lookup{.subject = subject,
                                    .kernel = kernel.name,
                                    .origin = found.origin,
                                    .is_product = kernel.kind == models::OpKind::grouped_matmul ||
                                                  kernel.kind == models::OpKind::matmul});
    at->second.runs += runs;
    at->second.time += runs * found.time;
  }
  void add(const std::vector<Kernel>& kernels, double runs) {
    for (const Kernel& kernel : kernels) { add(kernel, runs); }
  }

  std::vector<Lookup> sorted() && {
    std::vector<Lookup> list;
    list.reserve(rows_.size());
    for (auto& [key, row] : rows_) { list.push_back(std::move(row)); }
    std::stable_sort(list.begin(), list.end(),
                     [](const Lookup& a, const Lookup& b) { return a.time > b.time; });
    return list;
  }

 private:
  const cost::Device& device_;
  std::map<std::pair<std::string, cost::Origin>, Lookup> rows_;
};

void add_block(const models::Block& block, const strategies::TensorSplit& split, const Scenario& s,
               Gathered& out) {
  const strategies::Strategy& strategy = s.strategy;
  const models::OpGraph graph = strategies::split_block(block, split, strategy).graph;
  const models::BlockKernels kernels = models::kernels(graph, strategy.fusion);
  const double runs = static_cast<double>(micro_batches(s)) * block.count;
  out.add(kernels.forward, runs);
  if (!s.workload.training) { return; }
  out.add(kernels.backward_input, runs);
  out.add(kernels.backward_weight, runs);
  if (!strategies::is_layer(block.kind)) { return; }
  const strategies::Remade remade = strategies::remade(graph, strategy.recompute, strategy);
  out.add(kernels_again(kernels.forward, remade), runs);
}

/// The optimizer's step of a stage; its time is the plan's.
Lookup optimizer_lookup(const strategies::StagePlan& stage, const Scenario& s,
                        const cost::Device& device) {
  const std::int64_t shards = strategies::state_shards(s.strategy);
  Kernel kernel;
  kernel.kind = models::OpKind::optimizer;
  kernel.cls = models::OpClass::elementwise;
  kernel.elements = (stage.elements + shards - 1) / shards;
  kernel.bytes = kernel.elements * Bytes{28};
  return {.subject = cost::subject_of(kernel),
          .kernel = "optimizer",
          .runs = 1,
          .time = stage.optimizer,
          .origin = cost::kernel_lookup(kernel, device).origin};
}

}  // namespace

std::vector<Lookup> lookups(const Scenario& scenario, const models::Model& model,
                            const cost::Device& device,
                            const std::vector<strategies::StagePlan>& stages) {
  Gathered gathered(device);
  const strategies::TensorSplit split = tensor_split(model, scenario.strategy);
  for (const models::Block& block : model.blocks) { add_block(block, split, scenario, gathered); }
  std::vector<Lookup> list = std::move(gathered).sorted();
  if (!scenario.workload.training) { return list; }
  for (const strategies::StagePlan& stage : stages) {
    list.push_back(optimizer_lookup(stage, scenario, device));
  }
  std::stable_sort(list.begin(), list.end(),
                   [](const Lookup& a, const Lookup& b) { return a.time > b.time; });
  return list;
}

std::vector<Lookup> heaviest_misses(const std::vector<Lookup>& lookups) {
  constexpr std::size_t kListed = 10;
  std::vector<Lookup> missed;
  for (const Lookup& one : lookups) {
    const bool miss = one.subject && one.origin != cost::Origin::measured;
    if (miss && missed.size() < kListed) { missed.push_back(one); }
  }
  return missed;
}

std::array<Seconds, cost::kOrigins> times_by_origin(const std::vector<Lookup>& lookups) {
  std::array<Seconds, cost::kOrigins> times{};
  for (const Lookup& one : lookups) { times[static_cast<std::size_t>(one.origin)] += one.time; }
  return times;
}

std::array<int, cost::kOrigins> counts_by_origin(const std::vector<Lookup>& lookups) {
  std::array<int, cost::kOrigins> counts{};
  for (const Lookup& one : lookups) { ++counts[static_cast<std::size_t>(one.origin)]; }
  return counts;
}

}  // namespace tsim::sim
