#include "sim/input/read_strategy.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/input/read_async.hpp"
#include "sim/input/read_experts.hpp"
#include "sim/input/read_precision.hpp"
#include "sim/input/read_savers.hpp"
#include "sim/input/read_schedule.hpp"
#include "sim/input/read_slices.hpp"
#include "sim/input/read_stage_order.hpp"
#include "sim/input/read_tensor_split.hpp"
#include "sim/input/suggest.hpp"
#include "strategies/layout.hpp"
#include "strategies/schedule.hpp"

namespace tsim::sim {
namespace {

using models::DType;
using strategies::ContextAttention;
using strategies::Fidelity;
using strategies::GradientSync;
using strategies::LayerSplit;
using strategies::Optimizer;
using strategies::Strategy;

constexpr Range kDegree{1, 1'000'000};
constexpr std::array kFusions{models::Fusion::none, models::Fusion::framework,
                              models::Fusion::full};
constexpr std::array kOptimizers{Optimizer::adam,         Optimizer::adamw, Optimizer::sgd,
                                 Optimizer::sgd_momentum, Optimizer::lamb,  Optimizer::adafactor,
                                 Optimizer::adam_8bit,    Optimizer::muon};
constexpr std::array kAttentions{ContextAttention::ring, ContextAttention::all_gather,
                                 ContextAttention::ulysses};
constexpr std::array kSyncs{GradientSync::automatic, GradientSync::last, GradientSync::every};
constexpr std::array kFidelities{Fidelity::aggregated, Fidelity::steps};

/// "even", "balanced", "fitting", or a list with the layers of each stage.
void read_layers(const Place& place, Strategy& strategy) {
  if (!place.present()) { return; }
  if (place.value->is_array()) {
    strategy.split = LayerSplit::list;
    for (const Place& entry : read_entries(place)) {
      strategy.layers_per_stage.push_back(static_cast<int>(read_count(entry, {1, 100'000})));
    }
    if (strategy.layers_per_stage.empty()) {
      place.fail("an empty list", "the layers of each stage");
    }
    return;
  }
  const std::string expected =
      R"("even", "even_with_ends", "balanced", "fitting" or a list with the layers of each stage)";
  static constexpr std::array<std::string_view, 4> kNames{"even", "even_with_ends", "balanced",
                                                          "fitting"};
  if (!place.value->is_string()) {
    place.fail(place.found(), expected);
  } else if (const std::string written = read_text(place); written == "even") {
    strategy.split = LayerSplit::even;
  } else if (written == "even_with_ends") {
    strategy.split = LayerSplit::even_with_ends;
  } else if (written == "fitting") {
    strategy.split = LayerSplit::fitting;
  } else if (!written.empty() && written != "balanced") {
    place.fail(in_quotes(written), expected, did_you_mean(written, kNames));
  }
}

/// The kinds of ranks in any order, innermost first.
std::string read_order(const Place& place) {
  std::string standard = Strategy{}.order;
  std::string order = read_text(place, standard);
  if (strategies::is_rank_order(order)) { return order; }
  if (!order.empty()) {
    place.fail(in_quotes(order), "tp, dp, pp and perhaps cp, once each, joined by '-'",
               in_quotes(standard));
  }
  return standard;
}

int read_degree(const Place& place) { return static_cast<int>(read_count(place, kDegree, 1)); }

Bytes read_bytes(const Place& place, Bytes fallback) {
  return {std::llround(read_quantity(place, Dimension::size, to_double(fallback)))};
}

/// Bits of an element on the wire: a format's name; absent: as it is kept.
int read_bits(const Place& place) {
  static constexpr std::array<std::string_view, 4> kFormats{"none", "int4", "int8", "fp8"};
  static constexpr std::array kBits{0, 4, 8, 8};
  return kBits[read_choice(place, kFormats, 0)];
}

/// A stage, or an object with the stage and how it is done.
strategies::Zero read_zero(const Place& place) {
  strategies::Zero zero;
  constexpr Range kStages{0, 3};
  if (!place.present() || !place.value->is_object()) {
    zero.stage = static_cast<int>(read_count(place, kStages, zero.stage));
    return zero;
  }
  Reader in(place);
  zero.stage = static_cast<int>(read_count(in.take("stage"), kStages));
  zero.shard_group = static_cast<int>(read_count(in.take("shard_group"), kDegree, 0));
  zero.prefetch = static_cast<int>(read_count(in.take("prefetch"), {0, 10'000}, zero.prefetch));
  zero.persistence = read_count(in.take("persistence"), {0, kMostCounted}, zero.persistence);
  zero.flat = read_flag(in.take("flat"), zero.flat);
  zero.reshard = read_flag(in.take("reshard"), zero.reshard);
  zero.secondary_group = static_cast<int>(read_count(in.take("secondary_group"), kDegree, 0));
  zero.weight_bits = read_bits(in.take("weights_on_wire"));
  zero.gradient_bits = read_bits(in.take("gradients_on_wire"));
  zero.with_pipeline = read_flag(in.take("with_pipeline"), zero.with_pipeline);
  in.finish();
  return zero;
}

/// The schedule, and what only some of them know.
void read_pipeline(Reader& in, const std::filesystem::path& folder, Strategy& s) {
  read_schedule(in.take("schedule"), folder, s);
  const strategies::Schedule* const named = strategies::schedule_named(s.schedule);
  if (named != nullptr) { s.chunks = named->chunks > 0 ? named->chunks : named->usual_chunks; }
  const Place chunks = in.take("chunks");
  const auto written = static_cast<int>(read_count(chunks, {1, 1000}, s.chunks));
  if (named == nullptr && written != s.chunks) {
    chunks.fail(chunks.found(), std::to_string(s.chunks) + ", as many as the schedule names");
  }
  s.chunks = written;
  s.micro_batch_group = static_cast<int>(
      read_count(in.take("micro_batch_group"), {1, kMostCounted}, s.micro_batch_group));
  s.most_in_flight =
      read_real(in.take("most_in_flight"), {.least = 1.0, .most = 1e6}, s.most_in_flight);
  static constexpr std::array<std::string_view, 2> kMessages{"async", "batched"};
  s.host_blocks = read_flag(in.take("host_blocks"), s.host_blocks);
  s.host_waits = read_flag(in.take("host_waits"), s.host_waits);
  s.batched_p2p = read_choice(in.take("p2p"), kMessages, 0) == 1;
}

}  // namespace

Strategy read_strategy(const Place& strategy, const Place& precision,
                       const std::filesystem::path& folder, StageOrderInput& stage_order) {
  Reader in(strategy);
  Strategy s;
  s.tensor = read_degree(in.take("tensor"));
  s.pipeline = read_degree(in.take("pipeline"));
  s.data = read_degree(in.take("data"));
  s.async = read_async(in.take("data_parallel"));
  s.context = read_degree(in.take("context"));
  s.context_attention =
      read_choice<ContextAttention>(in.take("context_attention"), kAttentions, s.context_attention);
  s.zigzag = read_flag(in.take("zigzag"), s.zigzag);
  read_experts(in, folder, s);
  read_pipeline(in, folder, s);
  read_slices(in.take("token_slices"), s);
  read_tensor_split(in, s);
  read_layers(in.take("layers"), s);
  s.encoder_stages =
      static_cast<int>(read_count(in.take("encoder_stages"), kDegree, s.encoder_stages));
  read_savers(in, s);
  s.fusion = read_choice<models::Fusion>(in.take("fusion"), kFusions, s.fusion);
  s.flash_attention = read_flag(in.take("flash_attention"), s.flash_attention);
  s.sequence_parallel = read_flag(in.take("sequence_parallel"), s.sequence_parallel);
  s.optimizer = read_choice<Optimizer>(in.take("optimizer"), kOptimizers, s.optimizer);
  s.gradient_clipping = read_flag(in.take("gradient_clipping"), s.gradient_clipping);
  const Place loss_scaling = in.take("loss_scaling");
  s.zero = read_zero(in.take("zero"));
  s.gradient_sync = read_choice<GradientSync>(in.take("gradient_sync"), kSyncs, s.gradient_sync);
  static constexpr std::array<std::string_view, 2> kHeld{"always", "when_made"};
  s.gradients_when_made = read_choice(in.take("gradients_held"), kHeld, 0) == 1;
  static constexpr std::array<std::string_view, 2> kAccumulated{"fused", "eager"};
  s.eager_accumulation = read_choice(in.take("gradient_accumulation"), kAccumulated, 0) == 1;
  s.vocabulary_parallel = read_flag(in.take("vocabulary_parallel"), s.vocabulary_parallel);
  s.across_every = read_flag(in.take("across_every"), s.across_every);
  s.overlap_parameters = read_flag(in.take("overlap_parameters"), s.overlap_parameters);
  s.overlap_gradients = read_flag(in.take("overlap_gradients"), s.overlap_gradients);
  s.bucket = read_bytes(in.take("bucket"), s.bucket);
  s.first_bucket = read_bytes(in.take("first_bucket"), s.first_bucket);
  s.overlap_tensor = read_flag(in.take("overlap_tensor"), s.overlap_tensor);
  s.order = read_order(in.take("order"));
  stage_order = read_stage_order(in.take("stage_order"), s);
  s.scatter_gather = read_flag(in.take("scatter_gather"), s.scatter_gather);
  read_collective(in.take("collective"), s);
  s.fidelity = read_choice<Fidelity>(in.take("fidelity"), kFidelities, s.fidelity);
  s.precision = read_precision(precision, s.optimizer);
  s.loss_scaling = read_flag(loss_scaling, s.precision.compute == DType::fp16);
  in.finish();
  return s;
}

Workload read_workload(const Place& place) {
  Workload w;
  if (!place.present()) {
    place.fail("nothing", "an object with global_batch and micro_batch");
    return w;
  }
  Reader in(place);
  w.global_batch = read_count(in.take("global_batch"), {});
  w.micro_batch = read_count(in.take("micro_batch"), {});
  w.sequence = read_count(in.take("sequence"), {1, 10'000'000}, 0);
  w.decoder_sequence = read_count(in.take("decoder_sequence"), {1, 10'000'000}, 0);
  static constexpr std::array<std::string_view, 2> kModes{"train", "forward"};
  w.training = read_choice(in.take("mode"), kModes, 0) == 0;
  w.dropout = read_flag(in.take("dropout"), true);
  w.vocab_multiple = read_count(in.take("vocab_multiple"), {1, 1'000'000}, 1);
  in.finish();
  return w;
}

}  // namespace tsim::sim
