#include "sim/input/rules/check_scenario.hpp"

#include <algorithm>
#include <limits>
#include <string_view>
#include <vector>

#include "sim/input/read_schedule.hpp"
#include "sim/input/rules/check.hpp"
#include "sim/input/rules/divisors.hpp"
#include "strategies/schedule.hpp"

namespace tsim::sim {
namespace {

using models::Family;
using models::ModelConfig;
using strategies::Strategy;

constexpr std::int64_t kMostMicroBatches = 1'000'000;  // more tasks than memory holds
constexpr const char* kNotPipeline = "the pipeline degree has no such rule";

struct Degree {
  const char* name;
  int size;
};

/// Degrees with their product, as text, too.
struct Degrees {
  std::vector<Degree> list;
  std::int64_t product = 1;
  bool countable = true;  // in 64 bits
  std::string names, sizes;
};

Degrees degrees_of(const Strategy& s) {
  Degrees degrees{.list = {{"tensor", s.tensor}, {"pipeline", s.pipeline}, {"data", s.data}},
                  .names = {},
                  .sizes = {}};
  if (s.context > 1) { degrees.list.push_back({"context", s.context}); }
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (const Degree& d : degrees.list) {
    degrees.countable = degrees.countable && degrees.product <= kMost / d.size;
    if (degrees.countable) { degrees.product *= d.size; }
    degrees.names += (degrees.names.empty() ? "" : "*") + std::string(d.name);
    degrees.sizes += (degrees.sizes.empty() ? "" : "*") + text(d.size);
  }
  return degrees;
}

/// One degree that would make the product `ranks`.
std::string fitting_degree(const Degrees& degrees, std::int64_t ranks, std::int64_t devices) {
  if (!degrees.countable || ranks <= 0) { return {}; }
  for (const std::string_view name : {"data", "pipeline", "tensor"}) {
    const auto at =
        std::ranges::find_if(degrees.list, [name](const Degree& d) { return name == d.name; });
    const std::int64_t others = degrees.product / at->size;
    if (ranks % others == 0) {
      return std::string(name) + " = " + text(ranks / others) + " gives " + text(devices);
    }
  }
  return {};
}

/// Degrees times each other are the devices.
void check_degrees(const Check& check, std::int64_t devices) {
  if (devices == 0 || !check.clean({"/strategy/tensor", "/strategy/pipeline", "/strategy/data",
                                    "/strategy/context"})) {
    return;
  }
  const Degrees degrees = degrees_of(check.scenario.strategy);
  const std::int64_t servers = check.scenario.strategy.async.servers;
  const std::int64_t ranks = devices - servers;
  if (degrees.countable && degrees.product == ranks) { return; }
  check.fail("/strategy",
             degrees.names + " = " + degrees.sizes + " = " +
                 (degrees.countable ? text(degrees.product) : "more than 64 bits count"),
             text(ranks) + (servers > 0 ? " (devices in /cluster but for the servers)"
                                        : " (devices in /cluster)"),
             fitting_degree(degrees, ranks, devices));
}

/// Heads and MLP are cut evenly over the tensor group [arXiv:1909.08053, sec. 3]. Of fewer
/// key/value heads than ranks, several ranks hold the same one.
void check_tensor(const Check& check) {
  if (!check.clean({"/model", "/strategy/tensor"}) || is_grid(check.scenario.strategy.grid)) {
    return;
  }
  const ModelConfig& m = check.scenario.model;
  const std::int64_t t = check.scenario.strategy.tensor;
  const auto divide = [&](std::int64_t n, const char* what) {
    if (n % t == 0) { return; }
    check.fail(
        "/strategy/tensor", text(t),
        "a divisor of " + text(n) + " (" + what + " of the model): " + list_text(divisors(n)),
        kNotPipeline);
  };
  divide(m.heads, "attention heads");
  if (m.kv_heads != m.heads && t % m.kv_heads != 0) { divide(m.kv_heads, "key/value heads"); }
  divide(m.ffn, "ffn");
}

void check_batch(const Check& check) {
  if (!check.clean({"/workload/global_batch", "/workload/micro_batch", "/strategy/data"})) {
    return;
  }
  const Workload& w = check.scenario.workload;
  const std::int64_t data = check.scenario.strategy.data;
  const std::int64_t step = w.micro_batch * data;
  if (w.global_batch % step != 0) {
    check.fail("/workload/global_batch", text(w.global_batch),
               "a multiple of micro_batch*data = " + text(w.micro_batch) + "*" + text(data) +
                   " = " + text(step),
               "nearest valid: " + nearest_multiples(w.global_batch, step));
  } else if (w.global_batch / step > kMostMicroBatches) {
    check.fail("/workload/global_batch",
               text(w.global_batch / step) + " micro-batches in each pipeline",
               "at most " + text(kMostMicroBatches));
  }
}

/// What a broken rule of a schedule is about: its place and what is there.
void fail_demand(const Check& check, const strategies::Demand& demand, std::int64_t m) {
  using Of = strategies::Demand::Of;
  const Strategy& s = check.scenario.strategy;
  switch (demand.of) {
    case Of::pipeline:
      check.fail("/strategy/pipeline", text(s.pipeline), demand.expected, demand.hint);
      break;
    case Of::micro_batches:
      check.fail("/workload/global_batch", text(m) + " micro-batches in each pipeline",
                 demand.expected, demand.hint);
      break;
    case Of::chunks:
      check.fail("/strategy/chunks", text(s.chunks), demand.expected, demand.hint);
      break;
    case Of::group:
      check.fail("/strategy/micro_batch_group", text(s.micro_batch_group), demand.expected,
                 demand.hint);
      break;
  }
}

/// The user's own order is for so many stages and micro-batches.
void check_own_order(const Check& check, std::int64_t m) {
  const Strategy& s = check.scenario.strategy;
  const auto stages = static_cast<std::int64_t>(s.own_order.size());
  if (stages != s.pipeline) {
    check.fail("/strategy/schedule", "an order of " + text(stages) + " stages",
               text(s.pipeline) + " (/strategy/pipeline)");
  }
  if (own_micro_batches(s) != m) {
    check.fail("/strategy/schedule", "an order of " + text(own_micro_batches(s)) + " micro-batches",
               text(m) + " (global_batch / (micro_batch*data))");
  }
}

/// Keys that only one schedule knows.
void check_schedule_keys(const Check& check) {
  const Strategy& s = check.scenario.strategy;
  if (s.micro_batch_group != 0 && s.schedule != "interleaved") {
    check.fail("/strategy/micro_batch_group", text(s.micro_batch_group),
               "nothing with schedule \"" + s.schedule + "\"", "schedule = \"interleaved\"");
  }
  if (s.zero.stage > 0 && steps_each(s)) {
    check.fail("/strategy/zero", text(s.zero.stage),
               "0 with schedule \"" + s.schedule + "\", whose stages step after every micro-batch");
  }
  if (s.most_in_flight > 0 && s.schedule != "zb_auto") {
    check.fail("/strategy/most_in_flight", "a limit",
               "nothing with schedule \"" + s.schedule + "\"", "schedule = \"zb_auto\"");
  }
}

/// What a schedule demands of stages, chunks and micro-batches.
void check_schedule(const Check& check) {
  if (!check.clean({"/strategy", "/workload/global_batch", "/workload/micro_batch"})) { return; }
  const Strategy& s = check.scenario.strategy;
  const Workload& w = check.scenario.workload;
  const std::int64_t m = micro_batches(check.scenario);
  if (m < 1 || m > kMostMicroBatches || w.global_batch % (w.micro_batch * s.data) != 0) { return; }
  check_schedule_keys(check);
  const strategies::Schedule* const schedule = strategies::schedule_named(s.schedule);
  if (schedule == nullptr) {
    check_own_order(check, m);
  } else if (schedule->chunks > 0 && s.chunks != schedule->chunks) {
    check.fail("/strategy/chunks", text(s.chunks),
               text(schedule->chunks) + " with schedule \"" + s.schedule + "\"",
               schedule->chunks == 1 ? "schedule = \"interleaved\"" : "");
  } else if (schedule->demand != nullptr && w.training) {
    const auto demand = schedule->demand(strategies::shape_of(s, static_cast<int>(m)));
    if (demand) { fail_demand(check, *demand, m); }
  }
}

/// A table of learned positions has no row beyond its last.
void check_length(const Check& check, const char* path, std::int64_t length) {
  const ModelConfig& m = check.scenario.model;
  if (m.positions == models::Positions::learned && m.max_positions > 0 &&
      length > m.max_positions) {
    check.fail(path, text(length),
               "at most " + text(m.max_positions) + " (learned positions of the model)");
  }
}

void check_sequence(const Check& check) {
  if (!check.clean({"/model", "/workload/sequence", "/workload/decoder_sequence"})) { return; }
  const ModelConfig& m = check.scenario.model;
  const Workload& w = check.scenario.workload;
  if (m.family == Family::vision && w.sequence != 0) {
    check.fail("/workload/sequence", text(w.sequence), "no sequence for a vision model",
               "its " + text(tokens_of(m, w)) + " tokens follow from image and patch");
  } else if (m.family != Family::vision && tokens_of(m, w) == 0) {
    check.fail("/workload/sequence", "nothing",
               "a whole number >= 1, as the model states no sequence");
  } else if (m.family != Family::vision) {
    check_length(check, "/workload/sequence", tokens_of(m, w));
  }
  if (m.family == Family::encoder_decoder) {
    check_length(check, "/workload/decoder_sequence", w.decoder_sequence);
  } else if (w.decoder_sequence != 0) {
    check.fail("/workload/decoder_sequence", text(w.decoder_sequence),
               "no decoder_sequence, as the model is no encoder-decoder");
  }
}

/// Norms and dropout are cut along the sequence over the tensor group [arXiv:2205.05198, sec. 4.2].
void check_sequence_parallel(const Check& check) {
  const Scenario& s = check.scenario;
  if (!s.strategy.sequence_parallel ||
      !check.clean({"/model", "/workload", "/strategy/tensor", "/strategy/sequence_parallel"})) {
    return;
  }
  const std::int64_t t = s.strategy.tensor;
  const bool vision = s.model.family == Family::vision;
  const auto divide = [&](const char* path, std::int64_t length) {
    if (length % t == 0) { return; }
    check.fail(
        path, text(length) + (vision ? " tokens" : ""),
        "a multiple of tensor = " + text(t) + " with sequence_parallel",
        vision ? "sequence_parallel = false" : "nearest valid: " + nearest_multiples(length, t));
  };
  divide(vision ? "/strategy/sequence_parallel" : "/workload/sequence",
         tokens_of(s.model, s.workload));
  divide("/workload/decoder_sequence", s.workload.decoder_sequence);
}

void check_mode(const Check& check) {
  const Scenario& s = check.scenario;
  if (s.workload.training || s.strategy.recompute == strategies::Recompute::none ||
      !check.clean({"/workload/mode", "/strategy/recompute"})) {
    return;
  }
  check.fail("/strategy/recompute", "\"" + std::string(name_of(s.strategy.recompute)) + "\"",
             R"("none" with mode "forward", which keeps nothing to compute again)");
}

/// Bytes and FLOPs of an iteration must be countable in 64 bits with room to spare.
void check_size(const Check& check) {
  if (!check.clean({"/model", "/workload"})) { return; }
  const auto real = [](std::int64_t n) { return static_cast<double>(n); };
  const ModelConfig& m = check.scenario.model;
  const Workload& w = check.scenario.workload;
  const double length = real(std::max(tokens_of(m, w), w.decoder_sequence));
  // A generous count of a layer's elements per token, after the terms of arXiv:2205.05198, eq. 2.
  const double layer = 34 * real(m.hidden) + 8 * real(m.ffn) + 16 * real(m.heads * m.head_dim) +
                       5 * real(m.heads) * length;
  const double token = real(layer_count(m)) * layer + 8 * real(m.vocab + m.classes);
  constexpr double kMostBytes = 1e18;
  if (4 * real(w.global_batch) * length * token > kMostBytes) {
    check.fail("/workload", "more than 1e18 bytes of activations in an iteration",
               "something that can be simulated", "check global_batch and sequence");
  }
}

}  // namespace

std::int64_t layer_count(const ModelConfig& model) {
  return std::int64_t{model.layers} + model.decoder_layers;
}

std::int64_t tokens_of(const ModelConfig& model, const Workload& workload) {
  if (model.family == Family::vision) { return image_tokens(model); }
  return workload.sequence != 0 ? workload.sequence : model.sequence;
}

std::int64_t padded_vocab(std::int64_t vocab, std::int64_t multiple, std::int64_t tensor) {
  const std::int64_t step = multiple * tensor;
  return (vocab + step - 1) / step * step;
}

void check_scenario(const Scenario& scenario, std::int64_t devices, Problems& problems) {
  const Problems read = problems;
  const Check check{scenario, read, problems};
  check_degrees(check, devices);
  check_tensor(check);
  check_tensor_split(check);
  check_adapters(check);
  check_experts(check);
  check_stages(check);
  check_batch(check);
  check_layers(check);
  check_encoder_stages(check);
  check_schedule(check);
  check_sequence(check);
  check_sequence_parallel(check);
  check_context(check);
  check_zero(check);
  check_offload(check);
  check_kept(check);
  check_mode(check);
  check_size(check);
}

}  // namespace tsim::sim
