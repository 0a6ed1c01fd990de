#include "strategies/recompute.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "models/registry.hpp"
#include "strategies/stage_plan.hpp"
#include "tests/sim/sample_scenarios.hpp"

using namespace tsim;
using namespace tsim::strategies;
using namespace tsim::testing;

namespace {

Strategy by(RecomputeMethod method, int layers) {
  Strategy s;
  s.recompute = Recompute::full;
  s.recompute_method = method;
  s.recompute_layers = layers;
  return s;
}

ChunkPlan chunk_of(const Strategy& s) {
  const models::Model model =
      build_model(models::model_named("gpt2").value(), {.micro_batch = 2, .sequence = 256});
  return plan_stages(model, s, ideal_a100()).front().chunks.front();
}

Seconds time_again(const ChunkPlan& chunk, const ChunkPlan& without) {
  return compute_time(chunk.backward) - compute_time(without.backward);
}

/// Least time over all 3^n choices, by trying them.
double best_by_trying(const std::vector<LayerChoices>& layers, Bytes room) {
  double best = std::numeric_limits<double>::infinity();
  int combinations = 1;
  for (std::size_t i = 0; i < layers.size(); ++i) { combinations *= 3; }
  for (int code = 0; code < combinations; ++code) {
    Bytes kept;
    Bytes workspace;
    double time = 0;
    int rest = code;
    for (const LayerChoices& layer : layers) {
      const LayerChoice& choice = layer[static_cast<std::size_t>(rest % 3)];
      rest /= 3;
      kept += choice.kept;
      workspace = std::max(workspace, choice.workspace);
      time += choice.again.value;
    }
    if (kept + workspace <= room) { best = std::min(best, time); }
  }
  return best;
}

double time_of(const std::vector<LayerChoices>& layers, const std::vector<Recompute>& choices) {
  double time = 0;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    time += layers[i][static_cast<std::size_t>(choices[i])].again.value;
  }
  return time;
}

}  // namespace

TEST_CASE("block recomputes the first layers of each chunk, list those it names") {
  const Strategy block = by(RecomputeMethod::block, 2);
  CHECK(recompute_at(block, {.in_model = 13, .in_chunk = 1}) == Recompute::full);
  CHECK(recompute_at(block, {.in_model = 1, .in_chunk = 2}) == Recompute::none);
  Strategy list = by(RecomputeMethod::list, 0);
  list.recompute_list = {3, 5};
  CHECK(recompute_at(list, {.in_model = 5, .in_chunk = 0}) == Recompute::full);
  CHECK(recompute_at(list, {.in_model = 4, .in_chunk = 0}) == Recompute::none);
}

TEST_CASE("memory and time of n recomputed layers of 12 are n twelfths of the way to all") {
  const ChunkPlan none = chunk_of({});
  const ChunkPlan all = chunk_of(by(RecomputeMethod::every, 0));
  const ChunkPlan five = chunk_of(by(RecomputeMethod::block, 5));
  CHECK(12 * (none.activations - five.activations) == 5 * (none.activations - all.activations));
  CHECK(time_again(five, none).value ==
        doctest::Approx(5.0 / 12 * time_again(all, none).value).epsilon(1e-9));
  CHECK(five.fully == 5);
  Strategy list = by(RecomputeMethod::list, 0);
  list.recompute_list = {0, 1, 2, 3, 11};
  const ChunkPlan listed = chunk_of(list);
  CHECK(listed.activations == five.activations);
  CHECK(listed.backward_workspace == five.backward_workspace);
}

TEST_CASE("uniform groups of three keep a third of the inputs and recompute as long") {
  const ChunkPlan all = chunk_of(by(RecomputeMethod::every, 0));
  const ChunkPlan threes = chunk_of(by(RecomputeMethod::uniform, 3));
  // 12 inputs of 256 x 2 tokens, 768 wide and 2 bytes each; 8 of them are dropped.
  CHECK(all.activations - threes.activations == Bytes{8 * 256 * 2 * 768 * 2});
  CHECK(compute_time(threes.backward).value ==
        doctest::Approx(compute_time(all.backward).value).epsilon(1e-9));
  const ChunkPlan ones = chunk_of(by(RecomputeMethod::uniform, 1));
  CHECK(ones.activations == all.activations);
  CHECK(ones.backward_workspace == all.backward_workspace);
}

TEST_CASE("a group's last layer runs the forwards of all, whose activations are then all there") {
  BlockPlan layer;
  layer.again = std::vector<Piece>(2);
  layer.backward = std::vector<Piece>(5);  // the two and its own three
  layer.input_grad = std::vector<Piece>(4);
  layer.activations = 4_B;
  layer.recomputed = 10_B;
  layer.backward_workspace = 25_B;  // 15 of gradients
  const std::vector<BlockPlan> group = grouped({&layer, &layer, &layer});
  CHECK(group[0].activations == 4_B);
  CHECK(group[1].activations == 0_B);
  CHECK(group[2].activations == 0_B);
  CHECK(group[0].backward.size() == 3);
  CHECK(group[2].backward.size() == 6 + 3);
  CHECK(group[2].input_grad.size() == 6 + 2);
  // Three layers' own, two inputs, one layer's gradients.
  CHECK(group[2].backward_workspace == Bytes{3 * 10 + 2 * 4 + 15});
}

TEST_CASE("the choice that fits with least time is the best of all combinations") {
  const auto choice = [](std::int64_t kept, std::int64_t workspace, double again) {
    return LayerChoice{Bytes{kept}, Bytes{workspace}, Seconds{again}};
  };
  const LayerChoices big{choice(100, 10, 0), choice(60, 25, 1), choice(5, 70, 4)};
  const LayerChoices small{choice(40, 5, 0), choice(35, 6, 0.25), choice(2, 40, 1.5)};
  const std::vector<LayerChoices> layers{big, small, big, big, small, small};
  for (std::int64_t room = 80; room <= 460; room += 5) {
    CAPTURE(room);
    const auto choices = least_recompute(layers, Bytes{room}, {});
    const double best = best_by_trying(layers, Bytes{room});
    if (best == std::numeric_limits<double>::infinity()) {
      CHECK(choices == std::vector<Recompute>(layers.size(), Recompute::full));
    } else {
      CHECK(time_of(layers, choices) == doctest::Approx(best));
    }
  }
}

TEST_CASE("logits in eight parts take an eighth, and nothing else changes") {
  Strategy s;
  const ChunkPlan whole = chunk_of(s);
  s.loss_chunks = 8;
  const ChunkPlan parts = chunk_of(s);
  CHECK(whole.logits.value > 0);
  CHECK(parts.logits.value * 8 == whole.logits.value);
  CHECK(parts.activations == whole.activations);
  CHECK(compute_time(parts.backward).value == compute_time(whole.backward).value);
}

TEST_CASE("checkpoints cut over two tensor ranks take half and are gathered before they are used") {
  Strategy s = by(RecomputeMethod::every, 0);
  s.tensor = 2;
  const ChunkPlan whole = chunk_of(s);
  s.partition_activations = true;
  const ChunkPlan halves = chunk_of(s);
  // 12 inputs of 256 x 2 tokens, 768 wide and 2 bytes each.
  CHECK(whole.activations - halves.activations == Bytes{12 * 256 * 2 * 768});
  int gathers = 0;
  for (const Step& step : halves.backward.steps) {
    if (step.is_comm && step.comm.op == cost::CollectiveOp::all_gather) {
      ++gathers;
      CHECK(step.comm.size == Bytes{256 * 2 * 768 * 2});
    }
  }
  CHECK(gathers == 12);
}
