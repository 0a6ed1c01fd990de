// Processes that answer requests: on this machine, or on others through MPI.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace tsim::sim {

/// What a worker does with a request. It keeps what it likes between two.
using Serve = std::function<std::string(std::string_view request)>;

/// Where requests come from and replies go to: called by one process alone.
struct Desk {
  std::function<std::optional<std::string>()> next;  // none: there is nothing left to hand out
  std::function<void(std::string_view request, std::string_view reply)> done;
};

/// A child process that serves. What it throws is thrown here; when it is lost (killed, out of
/// memory) a new one gets the same request, up to three times in all.
class Worker {
 public:
  explicit Worker(Serve serve);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void send(std::string request);
  bool busy() const { return busy_; }
  /// To be polled for reading.
  int descriptor() const { return from_; }
  /// The reply to what was sent; waits for it. None: the worker was lost and has it once more.
  std::optional<std::string> reply();
  const std::string& request() const { return request_; }

 private:
  void start();
  void stop();
  Serve serve_;
  int to_ = -1, from_ = -1;
  int child_ = -1;
  int tries_ = 0;
  bool busy_ = false;
  std::string request_;
};

/// Hands out all requests of a desk and returns when every one has its reply; may be called again
/// with another desk. Throws std::runtime_error when a request loses its worker three times.
using HandOut = std::function<void(const Desk&)>;

/// To so many child processes; to this one alone for one job.
HandOut crew_of_processes(int jobs, const Serve& serve);

/// Whether this process is one of several that mpirun started, and whether it is the one that owns
/// the desk.
bool under_mpi();
bool is_first_rank();
/// On rank 0: every other rank is a worker. When the last copy of the result is gone, their work
/// ends.
HandOut crew_over_mpi();
/// On the others, until then. Each has a child process that serves.
void serve_over_mpi(const Serve& serve);

}  // namespace tsim::sim
