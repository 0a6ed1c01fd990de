#include "strategies/program.hpp"

#include <algorithm>
#include <utility>

namespace tsim::strategies {
namespace {

class ProgramMaker {
 public:
  ProgramMaker(Seconds host_launch, BucketLimits buckets)
      : host_launch_(host_launch), buckets_(buckets), limit_(buckets.first) {}

  void add(const Piece& piece) {
    switch (piece.kind) {
      case PieceKind::compute: add_compute(piece); break;
      case PieceKind::comm:
        close();
        frontier_ = {add_comm(piece)};
        break;
      case PieceKind::async_comm:
        close();
        pending_.push_back(add_comm(piece));
        break;
      case PieceKind::join:
        close();
        frontier_.insert(frontier_.end(), pending_.begin(), pending_.end());
        pending_.clear();
        break;
    }
  }

  Program finish() && {
    if (bucket_ > 0) { open_ = true; }
    close(bucket_ > 0);
    frontier_.insert(frontier_.end(), pending_.begin(), pending_.end());
    program_.exits = frontier_;
    return std::move(program_);
  }

 private:
  void add_compute(const Piece& piece) {
    if (open_ && current_.phase != piece.phase) { close(); }
    open_ = true;
    current_.phase = piece.phase;
    on_device_ += piece.on_device;
    launches_ += piece.launches;
    current_.model_flops += piece.model_flops;
    current_.hardware_flops += piece.hardware_flops;
    if (buckets_.others == 0) { return; }
    bucket_ += piece.gradients + piece.embedding_gradients;
    if (bucket_ >= limit_) {
      limit_ = buckets_.others;
      close(true);
    }
  }

  int add_comm(const Piece& piece) {
    Step step;
    step.is_comm = true;
    step.phase = piece.phase;
    step.after = frontier_;
    step.comm = piece.comm;
    step.size = piece.size;
    program_.steps.push_back(step);
    return static_cast<int>(program_.steps.size()) - 1;
  }

  void close(bool with_bucket = false) {
    if (!open_) { return; }
    current_.after = frontier_;
    current_.duration = std::max(on_device_, static_cast<double>(launches_) * host_launch_);
    if (with_bucket) { current_.bucket = std::exchange(bucket_, 0); }
    program_.steps.push_back(std::exchange(current_, Step{}));
    frontier_ = {static_cast<int>(program_.steps.size()) - 1};
    open_ = false;
    on_device_ = Seconds{};
    launches_ = 0;
  }

  Seconds host_launch_;
  BucketLimits buckets_;
  std::int64_t limit_;
  Program program_;
  Step current_;
  bool open_ = false;
  Seconds on_device_;
  int launches_ = 0;
  std::int64_t bucket_ = 0;
  std::vector<int> frontier_;  // what the next step waits for
  std::vector<int> pending_;   // communications that go on beside
};

}  // namespace

Program make_program(std::span<const Piece> pieces, Seconds host_launch, BucketLimits buckets) {
  ProgramMaker maker(host_launch, buckets);
  for (const Piece& piece : pieces) { maker.add(piece); }
  return std::move(maker).finish();
}

Seconds compute_time(const Program& program) {
  Seconds sum;
  for (const Step& step : program.steps) { sum += step.duration; }
  return sum;
}

}  // namespace tsim::strategies
