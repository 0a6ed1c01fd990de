#include "sim/simulate.hpp"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <string>
#include <system_error>

#include "sim/simgrid_network.hpp"

namespace tsim::sim {

using strategies::TaskGraph;

namespace {

/// Doubles that this process and its children see alike.
class SharedDoubles {
 public:
  explicit SharedDoubles(std::size_t count) : count_(std::max<std::size_t>(count, 1)) {
    void* const memory = mmap(nullptr, count_ * sizeof(double), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      throw std::system_error(errno, std::generic_category(), "no memory for a run's result");
    }
    data_ = static_cast<double*>(memory);
  }
  SharedDoubles(const SharedDoubles&) = delete;
  SharedDoubles& operator=(const SharedDoubles&) = delete;
  ~SharedDoubles() { munmap(data_, count_ * sizeof(double)); }
  double* data() { return data_; }

 private:
  std::size_t count_;
  double* data_ = nullptr;
};

enum ExitCode : int { ended = 0, failed = 1 };

/// The child's whole life. `result` receives starts, then ends; those of tasks that never ran are
/// NaN.
int replay_into(double* result, const TaskGraph& graph, std::span<const cost::Channel> channels) {
  try {
    SimGridNetwork network(graph, channels);
    const Timeline timeline = run_tasks(graph, network);
    std::copy(timeline.end.begin(), timeline.end.end(),
              std::copy(timeline.start.begin(), timeline.start.end(), result));
    return ExitCode::ended;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return ExitCode::failed;
  }
}

void wait_for(pid_t child) {
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
    throw std::runtime_error("the simulation failed");
  }
}

}  // namespace

Timeline simulate(const TaskGraph& graph, std::span<const cost::Channel> channels) {
  const std::size_t tasks = graph.tasks.size();
  SharedDoubles result(2 * tasks);
  // What is buffered now would be written by the child, too: SimGrid flushes.
  std::cout.flush();
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) {
    throw std::system_error(errno, std::generic_category(), "starting a run");
  }
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // Not exit(): what the parent registered for its end is not the child's to run.
    _exit(replay_into(result.data(), graph, channels));
  }
  wait_for(child);
  Timeline timeline;
  timeline.start.assign(result.data(), result.data() + tasks);
  timeline.end.assign(result.data() + tasks, result.data() + 2 * tasks);
  finish(graph, timeline);
  timeline.channel_bytes.resize(channels.size());
  return timeline;
}

}  // namespace tsim::sim
