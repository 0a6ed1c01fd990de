#include "sim/validate/run_rows.hpp"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <new>
#include <string>
#include <system_error>
#include <thread>

namespace tsim::validate {
namespace {

const sim::StandIns kNone{};

/// Outcomes and the number of the next item, in memory that all processes see alike.
class SharedOutcomes {
 public:
  explicit SharedOutcomes(std::size_t count)
      : count_(count), size_(kHeader + count * sizeof(Outcome)) {
    void* const memory =
        mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      throw std::system_error(errno, std::generic_category(), "no memory for the rows' outcomes");
    }
    memory_ = static_cast<char*>(memory);
    next_ = ::new (memory_) std::atomic<std::size_t>(0);
    outcomes_ = reinterpret_cast<Outcome*>(memory_ + kHeader);
    for (std::size_t i = 0; i < count; ++i) { ::new (outcomes_ + i) Outcome(); }
  }
  SharedOutcomes(const SharedOutcomes&) = delete;
  SharedOutcomes& operator=(const SharedOutcomes&) = delete;
  ~SharedOutcomes() { munmap(memory_, size_); }

  std::size_t take() { return next_->fetch_add(1); }
  bool left() const { return next_->load() < count_; }
  std::span<Outcome> all() { return {outcomes_, count_}; }

 private:
  static constexpr std::size_t kHeader = 64;
  std::size_t count_, size_;
  char* memory_ = nullptr;
  std::atomic<std::size_t>* next_ = nullptr;
  Outcome* outcomes_ = nullptr;
};

void say(Outcome& outcome, const char* why) {
  std::strncpy(outcome.why.data(), why, outcome.why.size() - 1);
}

/// A worker's whole life: one item after the other.
void work(std::span<const Item> items, SharedOutcomes& shared) {
  for (std::size_t i = shared.take(); i < items.size(); i = shared.take()) {
    say(shared.all()[i], "its process died");
    const Item& item = items[i];
    shared.all()[i] = outcome_of(*item.row, *item.choice, *item.source,
                                 item.stand_ins != nullptr ? *item.stand_ins : kNone, item.tier);
  }
}

void start_worker(std::span<const Item> items, SharedOutcomes& shared) {
  const pid_t child = fork();
  if (child < 0) { throw std::system_error(errno, std::generic_category(), "starting a worker"); }
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    work(items, shared);
    _exit(0);
  }
}

/// Waits until all workers have ended; one that died is replaced while items are left.
void wait_for_workers(std::span<const Item> items, SharedOutcomes& shared, int workers) {
  while (workers > 0) {
    int status = 0;
    if (waitpid(-1, &status, 0) < 0) {
      if (errno == EINTR) { continue; }
      throw std::system_error(errno, std::generic_category(), "waiting for a worker");
    }
    if (WIFSIGNALED(status) && shared.left()) {
      start_worker(items, shared);
    } else {
      --workers;
    }
  }
}

}  // namespace

std::vector<Item> items_of(std::span<const Source> sources) {
  std::size_t count = 0;
  for (const Source& source : sources) {
    for (const Row& row : source.rows) { count += row.choices.size(); }
  }
  std::vector<Item> items;
  items.reserve(count);
  for (const Source& source : sources) {
    for (const Row& row : source.rows) {
      for (const Choice& choice : row.choices) { items.push_back({&source, &row, &choice}); }
    }
  }
  return items;
}

std::vector<Outcome> run_items(std::span<const Item> items, int jobs) {
  SharedOutcomes shared(items.size());
  std::cout.flush();
  std::fflush(nullptr);
  const int workers = std::min(jobs, static_cast<int>(items.size()));
  for (int i = 0; i < workers; ++i) { start_worker(items, shared); }
  wait_for_workers(items, shared, workers);
  return {shared.all().begin(), shared.all().end()};
}

int available_processors() {
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace tsim::validate
