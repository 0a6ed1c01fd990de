#include "cost/programs/program.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <map>
#include <tuple>
#include <utility>

namespace tsim::cost {
namespace {

bool gathers(CollectiveOp op) {
  return op == CollectiveOp::all_gather || op == CollectiveOp::gather;
}
bool scatters(CollectiveOp op) {
  return op == CollectiveOp::reduce_scatter || op == CollectiveOp::scatter;
}

std::size_t index(int i) { return static_cast<std::size_t>(i); }

}  // namespace

std::string_view name_of(Buffer buffer) {
  constexpr std::array<std::string_view, 3> kNames{"input", "output", "scratch"};
  return kNames[static_cast<std::size_t>(buffer)];
}

int memory_chunk(const CollectiveProgram& p, int rank, Buffer buffer, int chunk) {
  const int part = p.chunks / p.ranks;
  switch (buffer) {
    case Buffer::input:
      if (!p.in_place) { return chunk + p.chunks; }
      return chunk + (gathers(p.op) ? rank * part : 0);
    case Buffer::output: return chunk + (p.in_place && scatters(p.op) ? rank * part : 0);
    case Buffer::scratch: return chunk + (p.in_place ? 1 : 2) * p.chunks;
  }
  return chunk;
}

int memory_size(const CollectiveProgram& p) { return (p.in_place ? 1 : 2) * p.chunks + p.scratch; }

ProgramBuilder::ProgramBuilder(std::string name, CollectiveOp op, int ranks, int chunks,
                               int scratch) {
  program_.name = std::move(name);
  program_.op = op;
  program_.ranks = ranks;
  program_.chunks = chunks;
  program_.scratch = scratch;
  program_.in_place = op != CollectiveOp::all_to_all && op != CollectiveOp::send_recv;
  program_.first = {0};
  places_.resize(index(ranks) * index(memory_size(program_)));
}

void ProgramBuilder::keep_input() {
  assert(program_.steps.empty());
  program_.in_place = false;
  places_.assign(index(program_.ranks) * index(memory_size(program_)), {});
}

ProgramBuilder::Place& ProgramBuilder::place(int rank, Buffer buffer, int chunk) {
  return places_[index(rank) * index(memory_size(program_)) +
                 index(memory_chunk(program_, rank, buffer, chunk))];
}

void ProgramBuilder::touch(Place& place, Use use, StepId step) {
  if (use != place.use || use == Use::write) { place = {kNone, place.users, use}; }
  for (std::uint32_t u = place.before; u != kNone; u = users_[u].next) {
    if (users_[u].step != step) { program_.after.push_back(users_[u].step); }
  }
  users_.push_back({step, place.users});
  place.users = static_cast<std::uint32_t>(users_.size() - 1);
}

void ProgramBuilder::add(const Step& step) {
  const auto id = static_cast<StepId>(program_.steps.size());
  std::vector<StepId>& after = program_.after;
  const auto begin = static_cast<std::ptrdiff_t>(after.size());
  for (int i = 0; i < step.count; ++i) {
    touch(place(step.from, step.source_buffer, step.source + i), Use::read, id);
  }
  for (int i = 0; i < step.count; ++i) {
    touch(place(step.to, step.target_buffer, step.target + i), step.reduce ? Use::sum : Use::write,
          id);
  }
  std::sort(after.begin() + begin, after.end());
  after.erase(std::unique(after.begin() + begin, after.end()), after.end());
  program_.steps.push_back(step);
  program_.first.push_back(static_cast<std::uint32_t>(after.size()));
}

CollectiveProgram ProgramBuilder::finish() && { return std::move(program_); }

Seconds critical_path(const CollectiveProgram& program, std::span<const int> devices, Bytes payload,
                      Router& router) {
  assert(static_cast<int>(devices.size()) == program.ranks);
  const auto& channels = router.topology().channels;
  const double chunk = to_double(payload) / program.chunks;
  std::vector<double> end(program.steps.size(), 0);
  std::map<std::tuple<int, int, int>, double> sent;  // by connection: when its wires are free
  double last = 0;
  for (StepId i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    double start = 0;
    for (const StepId before : dependencies(program, i)) {
      assert(before < i);
      start = std::max(start, end[before]);
    }
    const Path& path = router.path(devices[index(step.from)], devices[index(step.to)]);
    double pace = 0;
    for (const ChannelId c : path.channels) {
      pace = std::max(pace, 1 / channels[index(c)].bandwidth.value);
    }
    double& free = sent[{step.from, step.to, step.channel}];
    free = std::max(start, free) + step.count * chunk * pace;
    end[i] = free + path.latency.value;
    last = std::max(last, end[i]);
  }
  return {last};
}

}  // namespace tsim::cost
