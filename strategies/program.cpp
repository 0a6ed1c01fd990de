#include "strategies/program.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

namespace tsim::strategies {
namespace {

class ProgramMaker {
 public:
  ProgramMaker(const HostTimes& host, const BucketLimits& buckets)
      : host_(host), buckets_(buckets), limits_{buckets.first, buckets.first} {}

  void add(const Piece& piece) {
    switch (piece.kind) {
      case PieceKind::compute: add_compute(piece); break;
      case PieceKind::comm:
        if (host_.blocks && open_) { on_host_ += host_.collective; }
        close();
        frontier_ = {add_comm(piece)};
        break;
      case PieceKind::async_comm:
        close();
        pending_[piece.key].push_back(add_comm(piece));
        break;
      case PieceKind::detached_comm:
        close();
        add_comm(piece);
        break;
      case PieceKind::join: join(piece.key); break;
      case PieceKind::flush: send_rest(piece.phase); break;
    }
  }

  Program finish() && {
    send_rest(last_phase_);
    close();
    for (const auto& [key, steps] : pending_) {
      frontier_.insert(frontier_.end(), steps.begin(), steps.end());
    }
    program_.exits = frontier_;
    return std::move(program_);
  }

 private:
  void add_compute(const Piece& piece) {
    if (open_ && current_.phase != piece.phase) { close(); }
    open_ = true;
    current_.phase = piece.phase;
    last_phase_ = piece.phase;
    on_device_ += piece.on_device;
    on_host_ += host_time(piece);
    current_.model_flops += piece.model_flops;
    current_.hardware_flops += piece.hardware_flops;
    current_.memory.insert(current_.memory.end(), piece.memory.begin(), piece.memory.end());
    if (buckets_.others == 0) { return; }
    const std::int64_t dense = buckets_.dense ? piece.gradients + piece.embedding_gradients : 0;
    const std::int64_t experts = buckets_.experts ? piece.expert_gradients : 0;
    if (dense + experts > 0 && buckets_.gradient.value > 0) {
      current_.memory.push_back(
          {MemoryClass::gradients, (dense + experts) * buckets_.gradient, {}});
    }
    fill(dense, false, piece.phase);
    fill(experts, true, piece.phase);
  }

  Seconds host_time(const Piece& piece) const {
    const bool backward = piece.phase == Phase::backward || piece.phase == Phase::input_grad ||
                          piece.phase == Phase::weight_grad;
    return static_cast<double>(piece.launches) * (backward ? host_.backward : host_.forward) +
           static_cast<double>(piece.hooks) * host_.forward;
  }

  const std::vector<GradientSend>& sends(bool experts) const {
    return experts ? buckets_.expert_sends : buckets_.sends;
  }

  /// Adds the gradients that the kernel at hand makes.
  void fill(std::int64_t made, bool experts, Phase phase) {
    filled_[experts ? 1 : 0] += made;
    if (made == 0 || filled_[experts ? 1 : 0] < limits_[experts ? 1 : 0]) { return; }
    limits_[experts ? 1 : 0] = buckets_.others;
    send_bucket(phase, experts);
  }

  void send_rest(Phase phase) {
    for (const bool experts : {false, true}) {
      if (filled_[experts ? 1 : 0] > 0) { send_bucket(phase, experts); }
    }
  }

  /// Ends the step at hand, whose end completes the bucket, and sends that.
  void send_bucket(Phase phase, bool experts) {
    const std::int64_t elements = std::exchange(filled_[experts ? 1 : 0], 0);
    if (sends(experts).empty()) {
      open_ = true;
      current_.phase = phase;
      current_.of_experts = experts;
      close(elements);
      return;
    }
    close();
    std::vector<int> after = frontier_;
    for (const GradientSend& send : sends(experts)) {
      Step step;
      step.is_comm = true;
      step.phase = Phase::gradient_sync;
      step.after = after;
      step.comm = send.comm;
      step.comm.size = Bytes{std::llround(std::ceil(static_cast<double>(elements) * send.bytes))};
      program_.steps.push_back(step);
      after = {static_cast<int>(program_.steps.size()) - 1};
    }
    if (buckets_.completes && program_.steps.back().comm.group.axis == GroupAxis::host_memory) {
      program_.steps.back().to_host = elements;
    }
    program_.steps.back().memory = {
        {MemoryClass::gradients, {}, Bytes{} - elements * buckets_.gradient}};
  }

  void join(int key) {
    const auto found = pending_.find(key);
    if (found == pending_.end()) { return; }
    close();
    frontier_.insert(frontier_.end(), found->second.begin(), found->second.end());
    pending_.erase(found);
  }

  int add_comm(const Piece& piece) {
    Step step;
    step.is_comm = true;
    step.phase = piece.phase;
    step.after = frontier_;
    if (const auto found = pending_.find(piece.needs);
        piece.needs != 0 && found != pending_.end()) {
      step.after.insert(step.after.end(), found->second.begin(), found->second.end());
      pending_.erase(found);
    }
    step.comm = piece.comm;
    step.swap = piece.swap;
    step.memory = piece.memory;
    program_.steps.push_back(std::move(step));
    return static_cast<int>(program_.steps.size()) - 1;
  }

  void close(std::int64_t bucket = 0) {
    if (!open_) { return; }
    current_.after = frontier_;
    current_.duration = on_device_;
    current_.host = on_host_;
    if (host_.blocks) { current_.duration += std::exchange(current_.host, Seconds{}); }
    current_.bucket = bucket;
    program_.steps.push_back(std::exchange(current_, Step{}));
    frontier_ = {static_cast<int>(program_.steps.size()) - 1};
    open_ = false;
    on_device_ = Seconds{};
    on_host_ = Seconds{};
  }

  HostTimes host_;
  const BucketLimits& buckets_;
  Program program_;
  Step current_;
  Phase last_phase_{};  // of a computation
  bool open_ = false;
  Seconds on_device_;
  Seconds on_host_;
  std::array<std::int64_t, 2> limits_;  // of dense weights and of experts spread otherwise
  std::array<std::int64_t, 2> filled_{};
  std::vector<int> frontier_;                // what the next step waits for
  std::map<int, std::vector<int>> pending_;  // by key: communications that go on beside
};

}  // namespace

Program make_program(std::span<const Piece> pieces, const HostTimes& host,
                     const BucketLimits& buckets) {
  ProgramMaker maker(host, buckets);
  for (const Piece& piece : pieces) { maker.add(piece); }
  return std::move(maker).finish();
}

Seconds compute_time(const Program& program) {
  Seconds on_device;
  Seconds host;
  for (const Step& step : program.steps) {
    on_device += step.duration;
    host += step.host;
  }
  return std::max(on_device, host);
}

std::size_t first_compute(const Program& program) {
  const auto found = std::ranges::find_if(program.steps, [](const Step& s) { return !s.is_comm; });
  return static_cast<std::size_t>(found - program.steps.begin());
}

bool reads_input(const Step& step) {
  return !step.is_comm || step.comm.group.axis == GroupAxis::tensor;
}

}  // namespace tsim::strategies
