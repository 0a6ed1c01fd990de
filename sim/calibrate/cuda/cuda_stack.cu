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

/// What replicas tell each other: all are built, or one failed.
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

/// One replica, from its memory to its times. A failure before the first step ends all.
StackTimes run_replica(const StackShape& shape, const Replicas& replicas, int replica,
                       Meeting& meeting) {
  StackTimes times;
  std::optional<CudaOps> ops;
  std::optional<Stack<CudaOps>> stack;
  auto& failure = meeting.failures[static_cast<std::size_t>(replica)];
  try {
    check(cudaSetDevice(replica));
    ops.emplace(shape, replicas, replica);
    stack.emplace(shape, *ops);
  } catch (...) { failure = std::current_exception(); }
  meeting.all.arrive_and_wait();
  if (meeting.failed()) { return times; }
  try {
    times = time_steps(*stack, *ops);
  } catch (...) { failure = std::current_exception(); }
  return times;
}

}  // namespace

StackTimes run_cuda_stack(const StackShape& shape) {
  if (shape.tensor != 1) { throw NotHere("a stack on devices is not split over tensor ranks"); }
  if (shape.dtype != "bf16") { throw NotHere("a stack on devices is trained in bf16"); }
  const auto count = static_cast<int>(shape.data);
  const Replicas replicas(count);
  Meeting meeting(count);
  std::vector<StackTimes> times(static_cast<std::size_t>(count));
  std::vector<std::thread> threads;
  for (int replica = 0; replica < count; ++replica) {
    threads.emplace_back([&, replica] {
      times[static_cast<std::size_t>(replica)] = run_replica(shape, replicas, replica, meeting);
    });
  }
  for (std::thread& thread : threads) { thread.join(); }
  check(cudaSetDevice(0));
  for (const std::exception_ptr& failure : meeting.failures) {
    if (failure) { std::rethrow_exception(failure); }
  }
  return times.front();
}

}  // namespace tsim::calibrate
