// Every schedule against the formula of its paper: equal stages, free messages, real events.
#include <doctest/doctest.h>

#include <algorithm>

#include "sim/report/rank_times.hpp"
#include "tests/sim/run_pipeline.hpp"

using namespace tsim;
using namespace tsim::strategies;
using namespace tsim::testing;

namespace {

using Peaks = std::vector<std::int64_t>;

Result answer(const Strategy& s, Phases phases, int micro_batches) {
  const auto topology = star(world_size(s), BytesPerSecond{1e9});
  return run(s, equal_stages(s, phases), micro_batches, topology);
}

/// Makespan less the work of one stage.
double idle(const Strategy& s, Phases phases, int micro_batches) {
  return makespan(s, phases, micro_batches) - micro_batches * (phases.forward + phases.backward);
}

/// Most idle time of a stage between its first phase and its last one.
double idle_inside(const Result& r) {
  std::vector<double> first(r.graph.ranks.size(), 1e30);
  std::vector<double> last(r.graph.ranks.size(), 0);
  std::vector<double> busy(r.graph.ranks.size(), 0);
  for (std::size_t t = 0; t < r.graph.tasks.size(); ++t) {
    const Task& task = r.graph.tasks[t];
    if (task.kind != TaskKind::compute || task.micro_batch < 0) { continue; }
    first[task.place] = std::min(first[task.place], r.timeline.start[t]);
    last[task.place] = std::max(last[task.place], r.timeline.end[t]);
    busy[task.place] += r.timeline.end[t] - r.timeline.start[t];
  }
  double most = 0;
  for (std::size_t i = 0; i < busy.size(); ++i) {
    most = std::max(most, last[i] - first[i] - busy[i]);
  }
  return most;
}

/// What the closed form says beyond the work.
double formula(const Strategy& s, Phases p, int micro_batches) {
  return schedule_named(s.schedule)
      ->idle(shape_of(s, micro_batches), {p.forward, p.backward, p.weight_grad});
}

}  // namespace

TEST_CASE("every closed form is met where it is exact") {
  // F = W = B/2: the case that the papers' tables are about.
  const Phases phases{1, 2, 1};
  for (const Schedule& schedule : schedules()) {
    if (schedule.idle == nullptr) { continue; }
    for (const int p : {1, 2, 4, 6, 8}) {
      const Strategy s = pipeline(p, schedule.name);
      for (const int units : {2, 3, 5}) {
        const int m = units * p;
        const PipelineShape shape = shape_of(s, m);
        if (schedule.demand != nullptr && schedule.demand(shape)) { continue; }
        CAPTURE(schedule.name);
        CAPTURE(p);
        CAPTURE(m);
        CHECK(idle(s, phases, m) == doctest::Approx(formula(s, phases, m)).epsilon(1e-12));
        CHECK(answer(s, phases, m).closed.step.value ==
              doctest::Approx(makespan(s, phases, m)).epsilon(1e-9));
      }
    }
  }
}

TEST_CASE("ZB-H1 idles a third of 1F1B with 1F1B's memory") {
  // F = B = W = 1: (p-1)(F+B+W) = 9 against (p-1)(F+B-W) = 3 with p = 4; 21 against 7 with p = 8.
  // Every stage holds what 1F1B's first one does.   [arXiv:2401.10241, tables 2 and 3]
  const Phases phases{1, 2, 1};
  CHECK(idle(pipeline(4, "1f1b"), phases, 12) == doctest::Approx(9));
  CHECK(idle(pipeline(4, "zb_h1"), phases, 12) == doctest::Approx(3));
  CHECK(makespan(pipeline(4, "zb_h1"), phases, 12) == doctest::Approx(39));
  CHECK(makespan(pipeline(8, "zb_h1"), phases, 24) == doctest::Approx(79));
  CHECK(activation_peaks(answer(pipeline(4, "zb_h1"), phases, 12)) == Peaks{4, 4, 4, 4});
  CHECK(activation_peaks(answer(pipeline(8, "zb_h1"), phases, 24)) == Peaks(8, 8));
}

TEST_CASE("ZB-H1's formula holds for any F and B, and W up to both") {
  for (const Phases p : {Phases{2, 3, 1}, Phases{1, 2.2, 0.8}, Phases{1, 1.5, 0.5}}) {
    const double expected = 3 * (p.forward + p.backward - 2 * p.weight_grad);
    CHECK(idle(pipeline(4, "zb_h1"), p, 12) == doctest::Approx(expected).epsilon(1e-12));
  }
}

TEST_CASE("ZB-H2 idles nowhere inside a stage, but its last stage starts (p-1) F late") {
  // m = 12, p = 4: 36 busy in each stage's own span, 39 = 3m + (p-1)F from the first phase to the
  // last; peak 2p - 1.   [arXiv:2401.10241, tables 2 and 3]
  const Phases phases{1, 2, 1};
  const Result four = answer(pipeline(4, "zb_h2"), phases, 12);
  CHECK(idle_inside(four) == doctest::Approx(0));
  CHECK(four.timeline.makespan.value == doctest::Approx(39));
  CHECK(activation_peaks(four) == Peaks{7, 7, 7, 7});
  const Result eight = answer(pipeline(8, "zb_h2"), phases, 24);
  CHECK(idle_inside(eight) == doctest::Approx(0));
  CHECK(eight.timeline.makespan.value == doctest::Approx(79));
  CHECK(activation_peaks(eight) == Peaks(8, 15));
  // The paper's formula counts inside a stage: (p-1)(F+B-2W), B of the input.
  CHECK(idle_inside(answer(pipeline(4, "zb_h2"), {1, 1.5, 0.5}, 12)) == doctest::Approx(3));
}

TEST_CASE("ZB-V idles nowhere inside a stage with 1F1B's memory") {
  // Two chunks a stage: p micro-batches of a stage are 2p of a chunk.  [arXiv:2401.10241, sec. 6]
  for (const int p : {2, 3, 4, 8}) {
    const Result r = answer(pipeline(p, "zb_v"), {1, 2, 1}, 3 * p);
    CHECK(idle_inside(r) == doctest::Approx(0));
    CHECK(activation_peaks(r) == Peaks(static_cast<std::size_t>(p), 2 * p));
  }
}

TEST_CASE("ZB-auto finds ZB-H1 within 1F1B's memory and leaves no gap with twice of it") {
  const Phases phases{1, 2, 1};
  Strategy s = pipeline(4, "zb_auto");
  const Result one = answer(s, phases, 12);
  CHECK(one.timeline.makespan.value <= 39 + 1e-9);
  for (const std::int64_t held : activation_peaks(one)) { CHECK(held <= 4); }
  s.most_in_flight = 7;
  const Result two = answer(s, phases, 12);
  CHECK(idle_inside(two) == doctest::Approx(0));
  for (const std::int64_t held : activation_peaks(two)) { CHECK(held <= 7); }
}

TEST_CASE("ZB-auto is never slower than ZB-H1 and never holds more than its limit") {
  for (const Phases phases : {Phases{1, 2, 1}, Phases{1, 2.2, 0.8}, Phases{1, 2, 0.6},
                              Phases{2, 3, 1}, Phases{1, 3, 2}}) {
    for (const int p : {2, 4, 7}) {
      for (const int m : {1, 4, 9, 20}) {
        const Result r = answer(pipeline(p, "zb_auto"), phases, m);
        CAPTURE(p);
        CAPTURE(m);
        CHECK(r.timeline.makespan.value <= makespan(pipeline(p, "zb_h1"), phases, m) * (1 + 1e-9));
        for (const std::int64_t held : activation_peaks(r)) { CHECK(held <= p); }
      }
    }
  }
}

TEST_CASE("DualPipe idles (p/2-1)(F&B + B - 3W) and holds p + 1") {
  // B = 2F, W = F, F&B = 3: p = 16, m = 60: 7 x 2 = 14 of 180, 7.78 %; 1F1B (p-1)/m = 25 %,
  // interleaved (p-1)/(vm) = 12.5 % and 6.25 %.   [arXiv:2412.19437, table 2]
  const Phases phases{1, 2, 1};
  CHECK(idle(pipeline(16, "dualpipe"), phases, 60) == doctest::Approx(14));
  CHECK(idle(pipeline(16, "1f1b"), phases, 60) / 180 == doctest::Approx(0.25));
  CHECK(idle(pipeline(16, "interleaved", 2), phases, 64) / 192 == doctest::Approx(15.0 / 128));
  const Result r = answer(pipeline(8, "dualpipe"), phases, 20);
  CHECK(r.timeline.makespan.value == doctest::Approx(60 + 6));
  CHECK(activation_peaks(r) == Peaks(8, 9));
}

TEST_CASE("DualPipeV halves nothing but the parameters: (p-1)(F&B + B - 3W) of a chunk") {
  // [github.com/deepseek-ai/DualPipe]: p + 1 for p ranks of 2p chunks: 2p + 1 chunk activations.
  const Result r = answer(pipeline(4, "dualpipe_v"), {1, 2, 1}, 10);
  CHECK(r.timeline.makespan.value == doctest::Approx(30 + 3));
  CHECK(activation_peaks(r) == Peaks(4, 9));
}

TEST_CASE("Chimera idles (p-2) slots and holds between p/2 + 1 and p") {
  // F = B: (p-2)/(2m+p-2) of the step.  B = 2F, m = p: (p-2)/(3m/2+p-2).
  //   [arXiv:2107.06925, table 2, sec. 3.5]
  CHECK(idle(pipeline(8, "chimera"), {1, 1}, 24) / makespan(pipeline(8, "chimera"), {1, 1}, 24) ==
        doctest::Approx(6.0 / (48 + 6)));
  CHECK(idle(pipeline(8, "chimera"), {1, 2}, 8) / makespan(pipeline(8, "chimera"), {1, 2}, 8) ==
        doctest::Approx(6.0 / (12 + 6)));
  CHECK(activation_peaks(answer(pipeline(8, "chimera"), {1, 1}, 24)) ==
        Peaks{5, 6, 7, 8, 8, 7, 6, 5});
}

TEST_CASE("Hanayo divides Chimera's kind of bubble by its waves, with one copy of the model") {
  // Slots of F = B: 2p - 2 of F/(2W).   [arXiv:2308.15762, sec. 3.3]
  for (const int waves : {1, 2, 4}) {
    CHECK(idle(pipeline(8, "hanayo", 2 * waves), {1, 1}, 16) == doctest::Approx(7.0 / waves));
  }
  // One wave in chunks of half a stage: p + 1 to 2p of them.
  CHECK(activation_peaks(answer(pipeline(4, "hanayo", 2), {1, 1}, 8)) == Peaks{5, 6, 7, 8});
}

TEST_CASE("breadth first has the bubble of interleaving and the memory of GPipe") {
  // (p-1)(F+B)/v; all m micro-batches of all chunks.   [arXiv:2211.05953, sec. 4]
  CHECK(idle(pipeline(4, "breadth_first", 2), {1, 2}, 8) == doctest::Approx(4.5));
  CHECK(idle(pipeline(4, "breadth_first", 3), {1, 2}, 10) == doctest::Approx(3));
  CHECK(activation_peaks(answer(pipeline(4, "breadth_first", 2), {1, 2}, 8)) == Peaks(4, 16));
}

TEST_CASE("larger groups let interleaving take any number of micro-batches for more memory") {
  // p = 4, v = 2, m = 10 in two groups of 5: 10 x 3 + 4.5; stage 0 holds one chunk more than with
  // groups of 4, 12 to 11.
  Strategy s = pipeline(4, "interleaved", 2);
  s.micro_batch_group = 5;
  const Result r = answer(s, {1, 2}, 10);
  CHECK(r.timeline.makespan.value == doctest::Approx(34.5));
  CHECK(activation_peaks(r) == Peaks{12, 10, 8, 6});
  // Fewer than p: each of the v - 1 times round waits for p - m micro-batches that are not there.
  s.micro_batch_group = 3;
  CHECK(makespan(s, {1, 2}, 3) == doctest::Approx(9 + 4.5 + 1.5));
}

TEST_CASE("PipeDream steps after every backward and keeps a version for each in flight") {
  // Optimizer 0.5 s after each backward, which gradients on their way back do not wait for:
  // m (F+B+0.5) + (p-1)(F+B) = 8 x 3.5 + 3 x 3.
  const Strategy s = pipeline(4, "pipedream");
  auto stages = equal_stages(s, {1, 2});
  for (StagePlan& stage : stages) {
    stage.optimizer = Seconds{0.5};
    stage.elements = 100;
  }
  const auto topology = star(4, BytesPerSecond{1e9});
  const Result r = run(s, stages, 8, topology);
  CHECK(r.timeline.makespan.value == doctest::Approx(37));
  CHECK(r.closed.step.value == doctest::Approx(37));
  for (std::size_t stage = 0; stage < 4; ++stage) {
    // fp16: 200 bytes a version, p - s of them.   [arXiv:1806.03377, sec. 3.3]
    CHECK(r.graph.ranks[stage].resident[0].at_start ==
          Bytes{200 * static_cast<std::int64_t>(4 - stage)});
  }
  const Result twice = run(pipeline(4, "pipedream_2bw"), stages, 8, topology);
  CHECK(twice.graph.ranks[0].resident[0].at_start == Bytes{400});
  CHECK(twice.graph.ranks[3].resident[0].at_start == Bytes{400});
}

TEST_CASE("the two holders of a part add up their gradients, with one replica, too") {
  // p = 2, 1,000 fp16 gradients in each part: each of two all-reduces of 2,000 bytes between two
  // ranks takes 2(n-1)/n 2,000 / 1,000 = 2 s after 4 micro-batches of 3 s.
  const Strategy s = pipeline(2, "chimera");
  auto stages = equal_stages(s, {1, 2});
  for (StagePlan& stage : stages) {
    stage.elements = 2000;
    for (ChunkPlan& chunk : stage.chunks) {
      chunk.last_backward = one_step(Phase::backward, 2, 1000);
    }
  }
  const auto topology = star(2, BytesPerSecond{1000});
  const Result r = run(s, stages, 4, topology);
  int sums = 0;
  for (const Task& task : r.graph.tasks) {
    if (task.phase != Phase::gradient_sync) { continue; }
    ++sums;
    CHECK(r.graph.groups[task.place] == std::vector<std::uint32_t>{0, 1});
  }
  CHECK(sums == 2);
}

TEST_CASE("blocking exchanges add both messages of a micro-batch to the steady state") {
  // p = 2, F = 1, B = 2, 0.5 s a message: 1.5 s until the last stage starts, 2.5 s after it ends.
  // Asynchronous: forward j+2 is there 0.5 + B + F + 0.5 = 4 s after gradient j has left, so every
  // other micro-batch of 3 s waits 1 s, 3 times. Batched: between any two micro-batches the last
  // stage sends a gradient and receives an activation at once, 0.5 s, 7 times.
  Strategy s = pipeline(2, "1f1b");
  const auto topology = star(2, BytesPerSecond{200});
  const auto stages = equal_stages(s, {1, 2}, Bytes{100});
  const double async = run(s, stages, 8, topology).timeline.makespan.value;
  CHECK(async == doctest::Approx(1.5 + 8 * 3 + 3 * 1 + 2.5));
  s.batched_p2p = true;
  const double batched = run(s, stages, 8, topology).timeline.makespan.value;
  CHECK(batched == doctest::Approx(1.5 + 8 * 3 + 7 * 0.5 + 2.5));
}

TEST_CASE("blocking exchanges without messages change nothing") {
  for (const char* schedule : {"naive", "gpipe", "1f1b"}) {
    Strategy s = pipeline(4, schedule);
    const double async = makespan(s, {1, 2}, 6);
    s.batched_p2p = true;
    CHECK(makespan(s, {1, 2}, 6) == doctest::Approx(async));
  }
}

TEST_CASE("blocking messages end under every schedule and never shorten it") {
  for (const Schedule& schedule : schedules()) {
    Strategy s = pipeline(4, schedule.name);
    if (schedule.chunks == 0) { s.chunks = 2; }
    const auto topology = star(4, BytesPerSecond{200});
    const auto stages = equal_stages(s, {1, 2, 1}, Bytes{20});
    const Result async = run(s, stages, 8, topology);
    s.batched_p2p = true;
    const Result batched = run(s, stages, 8, topology);
    CAPTURE(schedule.name);
    CHECK(batched.timeline.makespan.value >= async.timeline.makespan.value * (1 - 1e-12));
    const auto& ends = batched.timeline.end;
    CHECK(std::all_of(ends.begin(), ends.end(), [](double end) { return end >= 0; }));
  }
}

TEST_CASE("memory returns to where it began under every schedule") {
  for (const Schedule& schedule : schedules()) {
    const Strategy s = pipeline(4, schedule.name);
    const Result r = answer(s, {1, 2, 1}, 8);
    std::int64_t sum = 0;
    for (const Task& task : r.graph.tasks) {
      if (task.effect == kNone) { continue; }
      for (const MemoryChange& c : r.graph.effects[task.effect]) {
        sum += c.at_start.value + c.at_end.value;
      }
    }
    CAPTURE(schedule.name);
    CHECK(sum == 0);
  }
}

TEST_CASE("an own order runs as it is written") {
  // Two stages, weight gradients of the last one at the end: F = B = W = 1, m = 2.
  Strategy s = pipeline(2, "1f1b");
  s.schedule = "mine";
  constexpr Phase F = Phase::forward;
  constexpr Phase I = Phase::input_grad;
  constexpr Phase W = Phase::weight_grad;
  s.own_order = {{{F, 0}, {F, 1}, {I, 0}, {W, 0}, {I, 1}, {W, 1}},
                 {{F, 0}, {I, 0}, {F, 1}, {I, 1}, {W, 0}, {W, 1}}};
  const Result r = answer(s, {1, 2, 1}, 2);
  CHECK(r.timeline.makespan.value == doctest::Approx(7));
  CHECK_FALSE(r.closed.known);
}

TEST_CASE("a forward pass alone fills a loop, a wave and two directions as their formulas say") {
  // F = 1, p = 4, m = 8: (p-1)/v, 2(p-1)/v, p-2 beyond the work.
  for (const auto& [schedule, fill] : {std::pair{"interleaved", 1.5}, std::pair{"hanayo", 3.0},
                                       std::pair{"chimera", 2.0}, std::pair{"1f1b", 3.0}}) {
    const Strategy s = pipeline(4, schedule, schedule == std::string("1f1b") ? 1 : 2);
    const auto topology = star(4, BytesPerSecond{1e9});
    cost::Router router(topology);
    const auto stages = equal_stages(s, {1, 2});
    const BuildInput input{.strategy = s,
                           .stages = stages,
                           .topology = topology,
                           .router = router,
                           .micro_batches = 8,
                           .training = false};
    const TaskGraph graph = build_tasks(input);
    sim::IdealNetwork network(graph, topology.channels);
    CHECK(sim::replay(graph, network).makespan.value == doctest::Approx(8 + fill));
    CHECK(closed_form(input).step.value == doctest::Approx(8 + fill));
  }
}
