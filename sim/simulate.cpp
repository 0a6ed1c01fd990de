#include "sim/simulate.hpp"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>
#include <system_error>

#include "sim/simgrid_network.hpp"

namespace tsim::sim {

using strategies::TaskGraph;

namespace {

constexpr std::size_t kTextSize = 1024;

/// Memory that this process and its children see alike: the result of a run.
class SharedResult {
 public:
  explicit SharedResult(std::size_t tasks)
      : tasks_(tasks), size_(kTextSize + 2 * tasks * sizeof(double)) {
    void* const memory =
        mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      throw std::system_error(errno, std::generic_category(), "no memory for a run's result");
    }
    memory_ = static_cast<char*>(memory);
  }
  SharedResult(const SharedResult&) = delete;
  SharedResult& operator=(const SharedResult&) = delete;
  ~SharedResult() { munmap(memory_, size_); }

  char* text() { return memory_; }  // why the run failed; zeroes at first
  double* start() { return reinterpret_cast<double*>(memory_ + kTextSize); }
  double* end() { return start() + tasks_; }

 private:
  std::size_t tasks_, size_;
  char* memory_ = nullptr;
};

enum ExitCode : int { ended = 0, failed = 1 };

/// The child's whole life. Times of tasks that never ran are NaN.
int replay_into(SharedResult& result, const TaskGraph& graph,
                std::span<const cost::Channel> channels) {
  try {
    SimGridNetwork network(graph, channels);
    const Timeline timeline = run_tasks(graph, network);
    std::copy(timeline.start.begin(), timeline.start.end(), result.start());
    std::copy(timeline.end.begin(), timeline.end.end(), result.end());
    return ExitCode::ended;
  } catch (const std::exception& error) {
    std::strncpy(result.text(), error.what(), kTextSize - 1);
    return ExitCode::failed;
  }
}

void wait_for(pid_t child, SharedResult& result) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) {
      throw std::system_error(errno, std::generic_category(), "waiting for a run");
    }
  }
  if (WIFSIGNALED(status)) {
    throw std::runtime_error("the simulation was ended by signal " +
                             std::to_string(WTERMSIG(status)));
  }
  if (WEXITSTATUS(status) != ExitCode::ended) {
    throw std::runtime_error(std::string("the simulation failed: ") + result.text());
  }
}

}  // namespace

Timeline simulate(const TaskGraph& graph, std::span<const cost::Channel> channels) {
  const std::size_t tasks = graph.tasks.size();
  SharedResult result(tasks);
  // What is buffered now would be written by the child, too: SimGrid flushes.
  std::cout.flush();
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) { throw std::system_error(errno, std::generic_category(), "starting a run"); }
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // Not exit(): what the parent registered for its end is not the child's to run.
    _exit(replay_into(result, graph, channels));
  }
  wait_for(child, result);
  Timeline timeline;
  timeline.start.assign(result.start(), result.start() + tasks);
  timeline.end.assign(result.end(), result.end() + tasks);
  finish(graph, timeline);
  timeline.channel_bytes.resize(channels.size());
  return timeline;
}

}  // namespace tsim::sim
