#include "sim/sweep/estimator.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "sim/sweep/exposure.hpp"
#include "strategies/deal.hpp"
#include "strategies/gradient_norm.hpp"
#include "strategies/memory.hpp"
#include "strategies/optimizers.hpp"
#include "strategies/tensor/statistics.hpp"

namespace tsim::sim {

using cost::CollectiveOp;
using strategies::PhaseTimes;
using strategies::Schedule;
using strategies::Strategy;

namespace {

// Points of one block follow each other, so tables of earlier blocks are not asked for again.
constexpr std::size_t kMostTables = 256;

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Optimizers and formats whose states depend on elements alone.
bool by_elements(const Strategy& s) {
  const bool shaped =
      s.optimizer == strategies::Optimizer::muon || s.optimizer == strategies::Optimizer::adafactor;
  return !shaped && s.precision.compute != models::DType::fp8;
}

/// Whether the scenario, whatever is chosen, has what sums know.
bool is_plain(const Scenario& s) {
  const Strategy& t = s.strategy;
  const bool layers =
      t.split == strategies::LayerSplit::even || t.split == strategies::LayerSplit::balanced;
  const bool tensor = t.operators == strategies::OperatorCuts{} && !is_grid(t.grid);
  const bool family = s.model.family != models::Family::encoder_decoder;
  return s.cluster.devices.size() == 1 && s.slowdown.empty() && s.workload.training && layers &&
         tensor && family && by_elements(t) && t.offload == strategies::Offload{} &&
         t.recompute_method == strategies::RecomputeMethod::every && t.encoder_stages == 0 &&
         !t.async.through_servers && t.stage_places.empty() && t.order.starts_with("tp-") &&
         (t.order.starts_with("tp-cp") || t.order.find("cp") == std::string::npos) &&
         s.model.moe.experts == 0 && !t.gradients_when_made && t.zero.secondary_group == 0 &&
         t.zero.shard_group == 0;
}

bool composed_schedule(const Schedule& s) {
  return s.placement == strategies::Placement::loop && s.idle != nullptr && !s.steps_each;
}

}  // namespace

/// Consecutive stages that run the same parts.
struct Estimator::StageRun {
  int first = 0, count = 0;
  std::vector<std::array<int, 3>> forms;  // layers, first, last of each chunk
  std::vector<const PartFigures*> chunks;
  PhaseTimes whole{0, 0, 0}, split{0, 0, 0};
  std::int64_t elements = 0, kept_whole = 0, buffers = 0;
  strategies::FrozenWeights frozen;
  std::vector<strategies::SharedGradients> shared;
};

/// What follows from the degrees beside the pipeline's.
struct Estimator::Shares {
  std::array<std::int64_t, 4> key{};  // data, zero, overlap_parameters, splits backward
  double transfers = 0, gradients = 0, optimizer = 0;
  std::vector<std::int64_t> resident;  // by run and stage version count 1: states and buffers
  std::vector<std::int64_t> parameters;
};

struct Estimator::Pipeline {
  PartTable* table = nullptr;
  std::int64_t stages = 0, chunk_count = 0;
  std::vector<StageRun> runs;
  std::array<double, 2> slowest{};  // whole backward, split
  std::array<PhaseTimes, 2> others{};
  std::vector<Shares> shares;
};

/// Collectives over one group.
class Estimator::GroupTimes {
 public:
  explicit GroupTimes(std::vector<int> devices) : devices_(std::move(devices)) {}
  double time(strategies::CollectiveTimes& times, const Strategy& s, CollectiveOp op, Bytes size) {
    const auto*& curve =
        curves_[op == CollectiveOp::all_reduce ? 0 : (op == CollectiveOp::all_gather ? 1 : 2)];
    if (curve == nullptr) { curve = &times.curve(s, op, devices_); }
    return time_at(*curve, size).value;
  }

 private:
  std::vector<int> devices_;
  std::array<const cost::CollectiveCurve*, 3> curves_{};
};

Estimator::Estimator(Scenario scenario)
    : scenario_(std::move(scenario)),
      plain_(is_plain(scenario_)),
      router_(scenario_.cluster.topology),
      times_(router_) {}

Estimator::~Estimator() = default;

const Scenario& Estimator::with(const Choice& choice) {
  apply(choice, scenario_);
  return scenario_;
}

bool Estimator::regular(const Choice& c) {
  const auto [at, added] = regular_.try_emplace(
      {c[Field::tensor], c[Field::context], c[Field::pipeline], c[Field::data]}, true);
  if (!added || c[Field::pipeline] == 1) { return at->second; }
  const strategies::Layout layout(scenario_.strategy);
  const auto last = static_cast<int>(c[Field::pipeline]) - 1;
  const auto same = [&](const std::vector<int>& a, const std::vector<int>& b) {
    constexpr Bytes kProbe{std::int64_t{32} << 20};
    const double x = times_.time(scenario_.strategy, CollectiveOp::all_reduce, a, kProbe).value;
    const double y = times_.time(scenario_.strategy, CollectiveOp::all_reduce, b, kProbe).value;
    return std::abs(x - y) <= 1e-9 * x;
  };
  for (const int stage : {last / 2, last}) {
    at->second = at->second && same(layout.tensor_group(0, 0), layout.tensor_group(0, stage)) &&
                 same(layout.replica_group(0, 0), layout.replica_group(0, stage));
  }
  return at->second;
}

bool Estimator::composable(const Choice& c) {
  const bool variants = strategies::rank_variants(scenario_.strategy, scenario_.model.causal) > 1;
  const bool one_stage_chunks = c[Field::pipeline] == 1 && c[Field::chunks] > 1;
  return plain_ && composed_schedule(schedule_of(c)) && !variants && !one_stage_chunks &&
         regular(c) && parts(c).usable();
}

PartTable& Estimator::parts(const Choice& c) {
  const Strategy& s = scenario_.strategy;
  std::array<std::int64_t, 16> key{};
  std::copy_n(c.values.begin(), index(static_cast<int>(kLastBlockField)) + 1, key.begin());
  const bool sends = sends_in_programs(s);
  if (sends || s.zero.stage == 3) {
    key[10] = 1 + c[Field::zero];
    key[11] = c[Field::data];
    key[12] = c[Field::pipeline] == 1 && c[Field::chunks] == 1 ? 1 : 0;
  } else {
    key[10] = replicas(s) > 1 ? 0 : -1;
  }
  std::string text(sizeof key, '\0');
  std::memcpy(text.data(), key.data(), sizeof key);
  if (table_ != nullptr && text == table_key_) { return *table_; }
  if (tables_.size() >= kMostTables) {
    tables_.clear();
    pipeline_.reset();
  }
  const auto [at, added] = tables_.try_emplace(text);
  if (added) { at->second = std::make_unique<PartTable>(scenario_, times_); }
  table_key_ = std::move(text);
  table_ = at->second.get();
  return *table_;
}

void Estimator::add_runs(const std::vector<int>& counts, Pipeline& p) {
  const int stages = static_cast<int>(p.stages);
  const int chunks = static_cast<int>(p.chunk_count);
  for (int stage = 0; stage < stages; ++stage) {
    StageRun run{.first = stage, .count = 1, .forms = {}, .chunks = {}};
    for (int chunk = 0; chunk < chunks; ++chunk) {
      const int part = chunk * stages + stage;
      run.forms.push_back(
          {counts[index(part)], part == 0 ? 1 : 0, part + 1 == stages * chunks ? 1 : 0});
    }
    if (!p.runs.empty() && p.runs.back().forms == run.forms) {
      ++p.runs.back().count;
    } else {
      p.runs.push_back(std::move(run));
    }
  }
  for (StageRun& run : p.runs) {
    for (const auto& [layers, first, last] : run.forms) {
      const PartFigures& f = p.table->figures({layers, first != 0, last != 0});
      run.chunks.push_back(&f);
      run.whole.forward += f[PartTime::forward];
      run.whole.backward += f[PartTime::backward];
      run.split.backward += f[PartTime::input_grad] + f[PartTime::weight_grad];
      run.split.weight_grad += f[PartTime::weight_grad];
      run.elements += f[PartSize::elements];
      run.kept_whole += f[PartSize::whole];
      add(run.frozen, {.elements = f[PartSize::frozen],
                       .whole = f[PartSize::frozen_whole],
                       .embedding = f[PartSize::frozen_embedding]});
      for (const auto& s : f.shared) { add_shared(run.shared, s.ranks, s.elements); }
      run.buffers = std::max(run.buffers, f[PartSize::input] + f[PartSize::output]);
    }
    run.split.forward = run.whole.forward;
    if (stages == 1) { run.buffers = 0; }
  }
}

Estimator::Pipeline& Estimator::pipeline(const Choice& c) {
  PartTable& table = parts(c);
  if (pipeline_ && pipeline_->table == &table && pipeline_->stages == c[Field::pipeline] &&
      pipeline_->chunk_count == c[Field::chunks]) {
    return *pipeline_;
  }
  pipeline_ = std::make_unique<Pipeline>();
  Pipeline& p = *pipeline_;
  p.table = &table;
  p.stages = c[Field::pipeline];
  p.chunk_count = c[Field::chunks];
  const auto sums = strategies::running_sums(table.layer_times());
  add_runs(strategies::deal({sums}, 0, scenario_.strategy), p);
  for (const std::size_t split : {0U, 1U}) {
    PhaseTimes sum{0, 0, 0};
    PhaseTimes slowest{0, 0, 0};
    for (const StageRun& run : p.runs) {
      const PhaseTimes& t = split == 1 ? run.split : run.whole;
      sum = {sum.forward + run.count * t.forward, sum.backward + run.count * t.backward,
             sum.weight_grad + run.count * t.weight_grad};
      if (t.forward + t.backward <= p.slowest[split]) { continue; }
      p.slowest[split] = t.forward + t.backward;
      slowest = t;
    }
    if (p.stages == 1) { slowest = {0, 0, 0}; }
    const double n = std::max<double>(1, static_cast<double>(p.stages) - 1);
    p.others[split] = {(sum.forward - slowest.forward) / n, (sum.backward - slowest.backward) / n,
                       (sum.weight_grad - slowest.weight_grad) / n};
  }
  return p;
}

double Estimator::collective(CollectiveOp op, Bytes size) {
  return group_->time(times_, scenario_.strategy, op, size);
}

double Estimator::transfers(const Choice& c, const Pipeline& p) {
  const Strategy& s = scenario_.strategy;
  const std::int64_t cut = cuts_messages(s) ? s.tensor : 1;
  const strategies::Layout layout(s);
  const auto message = [&](int from, int to, Bytes size) {
    const std::uint64_t key = (static_cast<std::uint64_t>(from) << 32U) |
                              static_cast<std::uint64_t>(static_cast<std::uint32_t>(to));
    const auto*& curve = messages_[key];
    if (curve == nullptr) { curve = &times_.curve(s, CollectiveOp::send_recv, {from, to}); }
    return time_at(*curve, size).value;
  };
  double sum = 0;
  for (const StageRun& run : p.runs) {
    const Bytes size{((*run.chunks.front())[PartSize::output] + cut - 1) / cut};
    for (int stage = run.first; stage < run.first + run.count; ++stage) {
      if (stage + 1 == c[Field::pipeline]) { break; }
      const int here = layout.rank({0, 0, stage});
      const int next = layout.rank({0, 0, stage + 1});
      sum += message(here, next, size) + message(next, here, size);
    }
  }
  return sum;
}

double Estimator::gradients(const Choice& c, const Pipeline& p) {
  const Strategy& s = scenario_.strategy;
  const bool alone = strategies::replicas(s) == 1;
  const bool split = schedule_of(c).splits_backward;
  const bool sends = sends_in_programs(s);
  const CollectiveOp op =
      s.zero.stage >= 1 ? CollectiveOp::reduce_scatter : CollectiveOp::all_reduce;
  const Bytes element{size_of(s.precision.reduction)};
  const auto time_of = [&](std::int64_t elements) { return collective(op, elements * element); };
  double most = 0;
  for (const StageRun& run : p.runs) {
    Exposure exposure(time_of);
    for (const PartFigures* chunk : run.chunks) {
      if (alone) { break; }
      const PartFigures& f = *chunk;
      if (sends) {
        exposure.add(f[split ? PartTime::last_weight_exits : PartTime::last_exits],
                     f[split ? PartTime::last_weight_all : PartTime::last_all]);
      } else {
        exposure.add(split ? f.weight_buckets : f.buckets);
      }
    }
    most = std::max(most, exposure.seconds() + shared_time(run.shared, s, run.first, times_));
  }
  return most;
}

double Estimator::optimizer(const Choice& c, const Pipeline& p) {
  const Strategy& s = scenario_.strategy;
  const bool gathers =
      s.zero.stage >= 1 && s.zero.stage < 3 && !s.overlap_parameters && strategies::replicas(s) > 1;
  double most = 0;
  for (const StageRun& run : p.runs) {
    const strategies::Weights own =
        strategies::share_of({.elements = run.elements, .shapes = {}}, state_shards(s));
    double time = optimizer_time(own, s, scenario_.cluster.devices.front()).value;
    if (gathers) {
      time += collective(CollectiveOp::all_gather,
                         run.elements * Bytes{size_of(kept_weights(s.precision))});
    }
    most = std::max(most, time);
  }
  if (waits_for_norm(s)) {
    const std::array<std::int64_t, 4> key{-1, strategies::shard_count(s) > 1 ? 1 : 0,
                                          c[Field::tensor] * c[Field::pipeline],
                                          c[Field::tensor] * c[Field::data] * c[Field::context]};
    auto& group = groups_[key];
    if (!group) { group = std::make_unique<GroupTimes>(norm_ranks(strategies::Layout(s), s, 0)); }
    most += group->time(times_, s, CollectiveOp::all_reduce, strategies::kNormSize);
  }
  return most;
}

const Estimator::Shares& Estimator::shares(const Choice& c, Pipeline& p) {
  const Strategy& s = scenario_.strategy;
  const std::array<std::int64_t, 4> key{c[Field::data], c[Field::zero],
                                        c[Field::overlap_parameters],
                                        schedule_of(c).splits_backward ? 1 : 0};
  const auto found = std::ranges::find(p.shares, key, &Shares::key);
  if (found != p.shares.end()) { return *found; }
  const std::array<std::int64_t, 4> group_key{c[Field::tensor], c[Field::context], c[Field::data],
                                              0};
  auto& group = groups_[group_key];
  if (!group) { group = std::make_unique<GroupTimes>(strategies::Layout(s).replica_group(0, 0)); }
  group_ = group.get();
  Shares shares{.key = key, .resident = {}, .parameters = {}};
  for (const StageRun& run : p.runs) {
    const strategies::StateBytes states =
        states_on_device(with_frozen(state_bytes(run.elements, s, run.kept_whole), run.frozen, s),
                         s, run.kept_whole + run.frozen.whole);
    shares.resident.push_back((states.gradients + states.optimizer).value + run.buffers);
    shares.parameters.push_back(states.parameters.value);
  }
  shares.transfers = transfers(c, p);
  shares.gradients = gradients(c, p);
  shares.optimizer = optimizer(c, p);
  p.shares.push_back(std::move(shares));
  return p.shares.back();
}

std::int64_t Estimator::with_allowance(std::int64_t bytes) const {
  return bytes + static_cast<std::int64_t>(scenario_.allowance * static_cast<double>(bytes));
}

std::optional<Estimate> Estimator::estimate(const Choice& c, double limit) {
  apply(c, scenario_);
  if (!composable(c)) { return planned(); }
  const Schedule& schedule = schedule_of(c);
  const std::size_t split = schedule.splits_backward ? 1 : 0;
  Pipeline& p = pipeline(c);
  const auto m = static_cast<int>(micro_batches(scenario_));
  const strategies::PipelineShape shape = strategies::shape_of(scenario_.strategy, m);
  Estimate e;
  e.work = m * p.slowest[split];
  e.idle = schedule.idle(shape, p.others[split]);
  if (e.work + e.idle >= limit) { return std::nullopt; }
  const Shares& shares = this->shares(c, p);
  e.transfers = (schedule.name == "naive" ? m : 1) * shares.transfers;
  e.gradients = shares.gradients;
  e.optimizer = shares.optimizer;
  e.step = e.work + e.idle + e.transfers + e.gradients + e.optimizer;
  const auto& instants = held_.stages(schedule, shape);
  const cost::Device& device = scenario_.cluster.devices.front();
  std::int64_t most = 0;
  for (std::size_t r = 0; r < p.runs.size(); ++r) {
    const StageRun& run = p.runs[r];
    const int versions = strategies::weight_versions(scenario_.strategy, run.first);
    most = std::max(most, versions * shares.parameters[r] + shares.resident[r] +
                              most_bytes(instants[index(run.first)], run.chunks));
  }
  e.memory = with_allowance(most) + device.reserved.value;
  e.fits = e.memory <= device.memory.value;
  return e;
}

double Estimator::least_step(const Choice& c, std::int64_t devices) {
  apply(c, scenario_);
  if (!plain_ || !parts(c).usable()) { return 0; }
  double layers = 0;
  for (const double t : parts(c).layer_times()) { layers += t; }
  const double micro =
      static_cast<double>(c[Field::global_batch]) / static_cast<double>(c[Field::micro_batch]);
  return layers * micro * static_cast<double>(c[Field::tensor] * c[Field::context]) /
         static_cast<double>(devices);
}

}  // namespace tsim::sim
