// A stack on several ranks computes what it computes on one.
#include <doctest/doctest.h>

#include <barrier>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "sim/calibrate/cpu/cpu_stack.hpp"

using namespace tsim::calibrate;

namespace {

const StackShape kSmall{.layers = 2,
                        .hidden = 32,
                        .heads = 2,
                        .ffn = 64,
                        .vocab = 24,
                        .sequence = 8,
                        .batch = 2,
                        .dtype = "fp32"};

/// What ranks of this process hand to one another.
class Hub {
 public:
  explicit Hub(int ranks) : meeting_(ranks) {}

  void send(int channel, const float* x, long count) {
    const std::lock_guard lock(mutex_);
    letters_[channel].emplace_back(x, x + count);
    came_.notify_all();
  }
  std::vector<float> take(int channel) {
    std::unique_lock lock(mutex_);
    came_.wait(lock, [&] { return !letters_[channel].empty(); });
    std::vector<float> letter = letters_[channel].front();
    letters_[channel].pop_front();
    return letter;
  }
  /// The sum of all ranks' x.
  void sum(float* x, long count) {
    {
      const std::lock_guard lock(mutex_);
      total_.resize(static_cast<std::size_t>(count), 0.0F);
      for (long i = 0; i < count; ++i) { total_[static_cast<std::size_t>(i)] += x[i]; }
    }
    meeting_.arrive_and_wait();
    std::copy(total_.begin(), total_.end(), x);
    meeting_.arrive_and_wait();
    {
      const std::lock_guard lock(mutex_);
      total_.clear();
    }
    meeting_.arrive_and_wait();
  }

 private:
  std::mutex mutex_;
  std::condition_variable came_;
  std::map<int, std::deque<std::vector<float>>> letters_;
  std::vector<float> total_;
  std::barrier<> meeting_;
};

/// A stage of two: channel 0 leads forward, 1 back, 2 and 3 carry the embedding's gradients.
class StageOps : public CpuOps {
 public:
  StageOps(const StackShape& shape, long stage, Hub& hub)
      : CpuOps(shape, 1, stage), stage_(stage), hub_(hub), back_(kBack), sent_(kBack) {}

  void receive_forward(float* x, long) { asked_.push_back(x); }
  void await_forward() {
    const std::vector<float> letter = hub_.take(0);
    std::copy(letter.begin(), letter.end(), asked_.front());
    asked_.pop_front();
  }
  const float* await_backward() {
    back_ = hub_.take(1);
    return back_.data();
  }
  void send_forward(const float* x, long count) { hub_.send(0, x, count); }
  void send_backward(const float* x, long count) { hub_.send(1, x, count); }
  float* room_backward() { return sent_.data(); }
  void sum_embedding(std::size_t at, long count) {
    hub_.send(2 + static_cast<int>(stage_), gradients(true) + at, count);
    const std::vector<float> other = hub_.take(3 - static_cast<int>(stage_));
    for (std::size_t i = 0; i < other.size(); ++i) { gradients(true)[at + i] += other[i]; }
  }

 private:
  static constexpr std::size_t kBack = 16 * 32;
  long stage_;
  Hub& hub_;
  std::vector<float> back_, sent_;
  std::deque<float*> asked_;
};

class TensorOps : public CpuOps {
 public:
  TensorOps(const StackShape& shape, Hub& hub) : CpuOps(shape, 1), hub_(hub) {}
  void reduce_tensor(float* x, long count) { hub_.sum(x, count); }

 private:
  Hub& hub_;
};

void copy(const float* from, float* to, std::size_t count) { std::copy(from, from + count, to); }

/// The largest difference, as a share of the largest value.
double difference(const float* a, const float* b, std::size_t count, float factor = 1) {
  float most = 0;
  float off = 0;
  for (std::size_t i = 0; i < count; ++i) {
    most = std::max(most, std::abs(factor * b[i]));
    off = std::max(off, std::abs(a[i] - factor * b[i]));
  }
  return static_cast<double>(off / most);
}

}  // namespace

TEST_CASE("two stages with three micro-batches add up three times one device's gradients") {
  CpuOps whole(kSmall, 1);
  Stack<CpuOps> alone(kSmall, whole);
  alone.forward();
  alone.backward();
  const StackPlaces all = places_of(kSmall);

  StackShape shape = kSmall;
  shape.pipeline = 2;
  shape.micro_batches = 3;
  Hub hub(2);
  StageOps front(shape, 0, hub);
  StageOps back(shape, 1, hub);
  const StackPlaces first = places_of(shape, 0);
  const StackPlaces second = places_of(shape, 1);
  const std::size_t layer = all.layers[0].end - all.layers[0].norm1;
  copy(whole.weights(), front.weights(), all.layers[0].end);  // embeddings and a layer
  copy(whole.weights(), back.weights(), static_cast<std::size_t>(kSmall.vocab * kSmall.hidden));
  copy(whole.weights() + all.layers[1].norm1, back.weights() + second.layers[0].norm1, layer);
  copy(whole.weights() + all.norm, back.weights() + second.norm, 64);

  std::thread other([&] { Stack<StageOps>(shape, back, 1).step(); });
  Stack<StageOps>(shape, front, 0).step();
  other.join();

  const float* const g = whole.gradients(true);
  CHECK(difference(front.gradients(true), g, first.size, 3) < 1e-5);
  CHECK(difference(back.gradients(true) + second.layers[0].norm1, g + all.layers[1].norm1,
                   layer + 64, 3) < 1e-5);
  CHECK(difference(back.gradients(true), g, 24 * 32, 3) < 1e-5);
  CHECK(back.mean_loss() == doctest::Approx(whole.mean_loss()));
}

TEST_CASE("two tensor ranks share each layer of one device") {
  CpuOps whole(kSmall, 1);
  Stack<CpuOps> alone(kSmall, whole);
  alone.forward();
  alone.backward();
  const StackPlaces all = places_of(kSmall);

  StackShape shape = kSmall;
  shape.tensor = 2;
  const StackPlaces part = places_of(shape);
  Hub hub(2);
  TensorOps one(shape, hub);
  TensorOps two(shape, hub);
  const auto deal = [&](TensorOps& ops, std::size_t rank) {
    copy(whole.weights(), ops.weights(), all.layers[0].norm1);
    copy(whole.weights() + all.norm, ops.weights() + part.norm, 64);
    for (std::size_t i = 0; i < 2; ++i) {
      const LayerPlaces& a = all.layers[i];
      const LayerPlaces& p = part.layers[i];
      const float* const w = whole.weights();
      float* const to = ops.weights();
      for (std::size_t m = 0; m < 3; ++m) {  // rows of queries, keys and values
        copy(w + a.qkv + (m * 32 + rank * 16) * 32, to + p.qkv + m * 16 * 32, 16 * 32);
        copy(w + a.qkv_bias + m * 32 + rank * 16, to + p.qkv_bias + m * 16, 16);
      }
      for (std::size_t row = 0; row < 32; ++row) {  // columns
        copy(w + a.out + row * 32 + rank * 16, to + p.out + row * 16, 16);
        copy(w + a.fc2 + row * 64 + rank * 32, to + p.fc2 + row * 32, 32);
      }
      copy(w + a.fc1 + rank * 32 * 32, to + p.fc1, 32 * 32);
      copy(w + a.fc1_bias + rank * 32, to + p.fc1_bias, 32);
      for (const auto& [from, at] :
           {std::pair{a.norm1, p.norm1}, std::pair{a.norm1_bias, p.norm1_bias},
            std::pair{a.norm2, p.norm2}, std::pair{a.norm2_bias, p.norm2_bias},
            std::pair{a.out_bias, p.out_bias}, std::pair{a.fc2_bias, p.fc2_bias}}) {
        copy(w + from, to + at, 32);
      }
    }
  };
  deal(one, 0);
  deal(two, 1);
  const auto run = [&shape](TensorOps& ops) {
    Stack<TensorOps> stack(shape, ops);
    stack.forward();
    stack.backward();
  };
  std::thread other([&] { run(two); });
  run(one);
  other.join();

  CHECK(one.mean_loss() == doctest::Approx(whole.mean_loss()));
  const float* const g = whole.gradients(true);
  CHECK(difference(one.gradients(true), g, all.layers[0].norm1) < 1e-5);  // embeddings
  CHECK(difference(two.gradients(true), g, all.layers[0].norm1) < 1e-5);
  CHECK(difference(two.gradients(true) + part.layers[0].fc1, g + all.layers[0].fc1 + 32 * 32,
                   32 * 32) < 1e-5);
  CHECK(difference(one.gradients(true) + part.layers[1].qkv, g + all.layers[1].qkv, 16 * 32) <
        1e-5);
}
