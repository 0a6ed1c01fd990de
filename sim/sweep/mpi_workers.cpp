// The same through MPI. Rank 0 hands out and receives; the others serve, each with a child process
// of its own, so that what a part of the work breaks is that child.
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#ifdef TSIM_MPI
#include <mpi.h>
#endif

#include "sim/sweep/workers.hpp"

namespace tsim::sim {

bool under_mpi() {
  const char* const size = std::getenv("OMPI_COMM_WORLD_SIZE");
  return size != nullptr && std::atoi(size) > 1;
}

bool is_first_rank() {
  const char* const rank = std::getenv("OMPI_COMM_WORLD_RANK");
  return rank == nullptr || std::atoi(rank) == 0;
}

#ifdef TSIM_MPI
namespace {

enum Tag : int { work = 1, reply = 2, failure = 3, end = 4 };

/// MPI from its start to its end; the children of a rank have started before.
class Session {
 public:
  Session() { MPI_Init(nullptr, nullptr); }
  ~Session() { MPI_Finalize(); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
};

void send(std::string_view text, int rank, Tag tag) {
  MPI_Send(text.data(), static_cast<int>(text.size()), MPI_BYTE, rank, tag, MPI_COMM_WORLD);
}

struct Letter {
  std::string text;
  int from = 0, tag = 0;
};

/// MPI_Probe keeps a processor busy while it waits, which the rank's child needs.
MPI_Status next_status() {
  constexpr std::chrono::microseconds kPause{500};
  MPI_Status status;
  int there = 0;
  for (;;) {
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &status);
    if (there != 0) { return status; }
    std::this_thread::sleep_for(kPause);
  }
}

Letter receive() {
  const MPI_Status status = next_status();
  int size = 0;
  MPI_Get_count(&status, MPI_BYTE, &size);
  Letter letter{std::string(static_cast<std::size_t>(size), '\0'), status.MPI_SOURCE,
                status.MPI_TAG};
  MPI_Recv(letter.text.data(), size, MPI_BYTE, letter.from, letter.tag, MPI_COMM_WORLD,
           MPI_STATUS_IGNORE);
  return letter;
}

/// A rank that serves until it is told to end.
void serve_rank(Worker& worker) {
  for (Letter letter = receive(); letter.tag == Tag::work; letter = receive()) {
    try {
      worker.send(std::move(letter.text));
      std::optional<std::string> answer;
      while (!answer) { answer = worker.reply(); }
      send(*answer, 0, Tag::reply);
    } catch (const std::exception& error) { send(error.what(), 0, Tag::failure); }
  }
}

/// Rank 0: as many parts are under way as there are other ranks.
void hand_out(const Desk& desk, int ranks) {
  std::vector<std::string> at(static_cast<std::size_t>(ranks));
  std::string failed;
  int busy = 0;
  const auto next = [&](int rank) {
    auto request = failed.empty() ? desk.next() : std::nullopt;
    if (!request) { return; }
    at[static_cast<std::size_t>(rank)] = std::move(*request);
    send(at[static_cast<std::size_t>(rank)], rank, Tag::work);
    ++busy;
  };
  for (int rank = 1; rank < ranks; ++rank) { next(rank); }
  while (busy > 0) {
    const Letter letter = receive();
    --busy;
    if (letter.tag == Tag::failure) {
      failed = letter.text;
    } else {
      desk.done(at[static_cast<std::size_t>(letter.from)], letter.text);
    }
    next(letter.from);
  }
  if (!failed.empty()) { throw std::runtime_error(failed); }
}

/// Tells the other ranks that all is done.
class Crew {
 public:
  Crew() { MPI_Comm_size(MPI_COMM_WORLD, &ranks_); }
  ~Crew() {
    for (int rank = 1; rank < ranks_; ++rank) { send({}, rank, Tag::end); }
  }
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;
  int ranks() const { return ranks_; }

 private:
  Session session_;
  int ranks_ = 1;
};

}  // namespace

HandOut crew_over_mpi() {
  const auto crew = std::make_shared<Crew>();
  return [crew](const Desk& desk) { hand_out(desk, crew->ranks()); };
}

void serve_over_mpi(const Serve& serve) {
  Worker worker(serve);
  const Session session;
  serve_rank(worker);
}
#else
HandOut crew_over_mpi() { throw std::runtime_error("this tsim was built without MPI"); }
void serve_over_mpi(const Serve& /*serve*/) {}
#endif

}  // namespace tsim::sim
