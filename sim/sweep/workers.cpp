#include "sim/sweep/workers.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <vector>

namespace tsim::sim {
namespace {

constexpr int kTries = 3;

/// All of `size` bytes; false when the other end is gone.
bool write_all(int to, const char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t n = ::send(to, bytes, size, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) { continue; }
    if (n <= 0) { return false; }
    bytes += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

bool read_all(int from, char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t n = ::recv(from, bytes, size, 0);
    if (n < 0 && errno == EINTR) { continue; }
    if (n <= 0) { return false; }
    bytes += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

/// A message is its length, then its bytes.
bool write_message(int to, std::string_view text) {
  const std::uint64_t size = text.size();
  return write_all(to, reinterpret_cast<const char*>(&size), sizeof size) &&
         write_all(to, text.data(), text.size());
}

std::optional<std::string> read_message(int from) {
  std::uint64_t size = 0;
  if (!read_all(from, reinterpret_cast<char*>(&size), sizeof size)) { return std::nullopt; }
  std::string text(size, '\0');
  if (!read_all(from, text.data(), size)) { return std::nullopt; }
  return text;
}

constexpr char kReply = '+';
constexpr char kFailure = '-';

/// The child's whole life: until the other end of the socket is closed.
int serve_at(int socket, const Serve& serve) {
  while (const auto request = read_message(socket)) {
    std::string answer;
    try {
      answer = kReply + serve(*request);
    } catch (const std::exception& error) { answer = kFailure + std::string(error.what()); }
    if (!write_message(socket, answer)) { break; }
  }
  return 0;
}

}  // namespace

Worker::Worker(Serve serve) : serve_(std::move(serve)) { start(); }

Worker::~Worker() { stop(); }

void Worker::start() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw std::system_error(errno, std::generic_category(), "starting a worker");
  }
  // What is buffered now would be written by the child, too.
  std::cout.flush();
  std::fflush(nullptr);
  child_ = fork();
  if (child_ < 0) { throw std::system_error(errno, std::generic_category(), "starting a worker"); }
  if (child_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::signal(SIGINT, SIG_IGN);  // the one that hands out work decides when it ends
    ::close(ends[0]);
    _exit(serve_at(ends[1], serve_));
  }
  ::close(ends[1]);
  to_ = from_ = ends[0];
}

void Worker::stop() {
  if (to_ >= 0) { ::close(to_); }
  to_ = from_ = -1;
  if (child_ <= 0) { return; }
  // It keeps nothing; its brothers hold the other end of its socket, so it would wait for ever.
  kill(child_, SIGKILL);
  int status = 0;
  while (waitpid(child_, &status, 0) < 0 && errno == EINTR) {}
  child_ = -1;
}

void Worker::send(std::string request) {
  request_ = std::move(request);
  busy_ = true;
  tries_ = 1;
  write_message(to_, request_);  // a worker that is gone is found out when its reply is read
}

std::optional<std::string> Worker::reply() {
  auto message = read_message(from_);
  if (message && !message->empty()) {
    busy_ = false;
    if (message->front() == kFailure) { throw std::runtime_error(message->substr(1)); }
    return message->substr(1);
  }
  if (tries_ == kTries) {
    throw std::runtime_error("a worker was lost three times at the same part of the work");
  }
  stop();
  start();
  ++tries_;
  write_message(to_, request_);
  return std::nullopt;
}

namespace {

using WorkerList = std::vector<std::unique_ptr<Worker>>;

void give_next(Worker& worker, const Desk& desk) {
  if (auto request = desk.next()) { worker.send(std::move(*request)); }
}

/// Waits for replies of those that are busy; false when none is.
bool take_replies(const WorkerList& workers, const Desk& desk) {
  std::vector<pollfd> waiting;
  std::vector<Worker*> of;
  for (const auto& worker : workers) {
    if (!worker->busy()) { continue; }
    waiting.push_back({worker->descriptor(), POLLIN, 0});
    of.push_back(worker.get());
  }
  if (waiting.empty()) { return false; }
  if (poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) {
    throw std::system_error(errno, std::generic_category(), "waiting for workers");
  }
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    if (waiting[i].revents == 0) { continue; }
    const std::string request = of[i]->request();
    if (const auto reply = of[i]->reply()) {
      desk.done(request, *reply);
      give_next(*of[i], desk);
    }
  }
  return true;
}

}  // namespace

HandOut crew_of_processes(int jobs, const Serve& serve) {
  if (jobs == 1) {
    return [serve](const Desk& desk) {
      while (const auto request = desk.next()) { desk.done(*request, serve(*request)); }
    };
  }
  const auto workers = std::make_shared<WorkerList>();
  return [workers, jobs, serve](const Desk& desk) {
    while (static_cast<int>(workers->size()) < jobs) {
      workers->push_back(std::make_unique<Worker>(serve));
    }
    for (const auto& worker : *workers) { give_next(*worker, desk); }
    while (take_replies(*workers, desk)) {}
  };
}

}  // namespace tsim::sim
