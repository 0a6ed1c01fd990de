#include <algorithm>
#include <barrier>
#include <exception>
#include <thread>
#include <vector>

#include "sim/calibrate/cuda/cuda_ops.hpp"
#include "sim/calibrate/cuda/cuda_stack.hpp"

namespace tsim::calibrate {
namespace {

constexpr int kWarmUp = 3;
constexpr int kSteps = 12;

/// What devices tell each other: all are built, or one failed.
struct Meeting {
  explicit Meeting(int count) : all(count), failures(static_cast<std::size_t>(count)) {}
  std::barrier<> all;
  std::vector<std::exception_ptr> failures;

  bool failed() const {
    return std::any_of(failures.begin(), failures.end(),
                       [](const std::exception_ptr& one) { return one != nullptr; });
  }
};

double memory_in_use() {
  std::size_t free = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&free, &total));
  return static_cast<double>(total - free);
}

StackTimes time_steps(Stack<CudaOps>& stack, CudaOps& ops) {
  StackTimes times;
  stack.step();
  times.first_loss = ops.mean_loss();
  for (int i = 1; i < kWarmUp; ++i) { stack.step(); }
  std::vector<Event> events(kSteps + 1);
  events[0].record(ops.stream());
  for (int i = 1; i <= kSteps; ++i) {
    stack.step();
    events[static_cast<std::size_t>(i)].record(ops.stream());
  }
  check(cudaStreamSynchronize(ops.stream()));
  std::vector<double> steps;
  for (std::size_t i = 0; i < kSteps; ++i) {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, events[i].get(), events[i + 1].get()));
    steps.push_back(1e-3 * milliseconds);
  }
  times.step = summarise(steps).median;
  times.steps = kSteps;
  times.memory = memory_in_use();
  ops.start_marks();
  stack.step();
  times.classes = ops.take_times();
  times.last_loss = ops.mean_loss();
  return times;
}

/// One device, from its memory to its times. A failure before the first step ends all.
StackTimes run_device(const StackShape& shape, const World& world, int device, Meeting& meeting) {
  StackTimes times;
  std::optional<Exchange> exchange;
  std::optional<CudaOps> ops;
  std::optional<Stack<CudaOps>> stack;
  auto& failure = meeting.failures[static_cast<std::size_t>(device)];
  const long stage = rank_of(shape, device).stage;
  try {
    check(cudaSetDevice(device));
    exchange.emplace(world, shape, device);
    ops.emplace(shape, *exchange, stage);
    stack.emplace(shape, *ops, stage);
  } catch (...) { failure = std::current_exception(); }
  meeting.all.arrive_and_wait();
  if (meeting.failed()) { return times; }
  try {
    times = time_steps(*stack, *ops);
  } catch (...) { failure = std::current_exception(); }
  return times;
}

/// The fullest device's memory, the loss of a last stage, and the slowest device's step.
StackTimes together(const std::vector<StackTimes>& all) {
  StackTimes times = all.front();
  for (const StackTimes& one : all) {
    times.step = std::max(times.step, one.step);
    times.memory = std::max(times.memory, one.memory);
    times.first_loss = std::max(times.first_loss, one.first_loss);
    times.last_loss = std::max(times.last_loss, one.last_loss);
  }
  return times;
}

}  // namespace

StackTimes run_cuda_stack(const StackShape& shape) {
  if (shape.dtype != "bf16") { throw NotHere("a stack on devices is trained in bf16"); }
  const auto count = static_cast<int>(shape.devices());
  const World world(shape);
  Meeting meeting(count);
  std::vector<StackTimes> times(static_cast<std::size_t>(count));
  std::vector<std::thread> threads;
  for (int device = 0; device < count; ++device) {
    threads.emplace_back([&, device] {
      times[static_cast<std::size_t>(device)] = run_device(shape, world, device, meeting);
    });
  }
  for (std::thread& thread : threads) { thread.join(); }
  check(cudaSetDevice(0));
  for (const std::exception_ptr& failure : meeting.failures) {
    if (failure) { std::rethrow_exception(failure); }
  }
  return together(times);
}

}  // namespace tsim::calibrate
