#include "sim/input/import/program_json.hpp"

#include <array>
#include <charconv>
#include <sstream>
#include <utility>

#include "sim/input/import/program_limits.hpp"
#include "sim/input/suggest.hpp"

namespace tsim::sim {
namespace {

using cost::Buffer;
using enum cost::CollectiveOp;

constexpr Range kRanks{1, 1024};
constexpr Range kChunks{1, 1 << 16};
constexpr std::array kOps{all_reduce, reduce_scatter, all_gather, broadcast,
                          reduce,     scatter,        gather,     all_to_all};

struct At {
  Buffer buffer = Buffer::output;
  int chunk = 0;
};

/// "scratch 3".
At read_at(const Place& place) {
  const std::string text = read_text(place);
  const std::size_t blank = text.find(' ');
  for (const Buffer buffer : {Buffer::input, Buffer::output, Buffer::scratch}) {
    if (text.substr(0, blank) != name_of(buffer) || blank == std::string::npos) { continue; }
    int chunk = -1;
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data() + blank + 1, end, chunk);
    if (error == std::errc{} && rest == end && chunk >= 0) { return {buffer, chunk}; }
  }
  if (!text.empty()) {
    place.fail(in_quotes(text), "a place such as \"input 3\" (input, output or scratch)");
  }
  return {};
}

struct ReadStep {
  cost::Step step;
  std::vector<cost::StepId> after;
  bool has_after = false;
};

/// Sizes that the steps of a program may refer to.
struct Sizes {
  int ranks = 1, chunks = 1, scratch = 0;
};

void read_places(Reader& in, cost::Step& step) {
  const Place chunk = in.take("chunk");
  const Place source = in.take("source"), target = in.take("target");
  if (chunk.present()) {
    step.source = step.target = static_cast<int>(read_count(chunk, {0, kChunks.most}));
    if (source.present() || target.present()) {
      chunk.fail(R"("chunk" beside "source" or "target")", "the one or the other");
    }
    return;
  }
  const At from = read_at(source), to = read_at(target);
  step.source = from.chunk;
  step.source_buffer = from.buffer;
  step.target = to.chunk;
  step.target_buffer = to.buffer;
}

void check_place(const Place& place, const Sizes& sizes, Buffer buffer, int chunk, int count) {
  const int size = buffer == Buffer::scratch ? sizes.scratch : sizes.chunks;
  if (chunk + count <= size) { return; }
  place.fail(std::string(name_of(buffer)) + " " + std::to_string(chunk) + " to " +
                 std::to_string(chunk + count - 1),
             "one of its " + std::to_string(size) + " chunks");
}

ReadStep read_step(const Place& place, const Sizes& sizes, std::size_t steps) {
  Reader in(place);
  ReadStep read;
  cost::Step& step = read.step;
  step.from = static_cast<int>(read_count(in.take("from"), {0, sizes.ranks - 1}));
  step.to = static_cast<int>(read_count(in.take("to"), {0, sizes.ranks - 1}));
  read_places(in, step);
  step.count = static_cast<int>(read_count(in.take("count"), {1, sizes.chunks}, 1));
  step.reduce = read_flag(in.take("reduce"), false);
  step.channel = static_cast<std::uint8_t>(read_count(in.take("channel"), {0, 255}, 0));
  const Place after = in.take("after");
  read.has_after = after.present();
  if (read.has_after) {
    for (const Place& id : read_entries(after)) {
      const auto last = static_cast<std::int64_t>(steps) - 1;
      read.after.push_back(static_cast<cost::StepId>(read_count(id, {0, last})));
    }
  }
  check_place(place, sizes, step.source_buffer, step.source, step.count);
  check_place(place, sizes, step.target_buffer, step.target, step.count);
  in.finish();
  return read;
}

/// Dependencies that the order of the steps implies.
cost::CollectiveProgram in_order(const cost::CollectiveProgram& head,
                                 const std::vector<ReadStep>& steps) {
  cost::ProgramBuilder builder(head.name, head.op, head.ranks, head.chunks, head.scratch);
  if (!head.in_place) { builder.keep_input(); }
  for (const ReadStep& read : steps) { builder.add(read.step); }
  return std::move(builder).finish();
}

cost::CollectiveProgram as_stated(cost::CollectiveProgram program,
                                  const std::vector<ReadStep>& steps) {
  program.first = {0};
  for (const ReadStep& read : steps) {
    program.steps.push_back(read.step);
    program.after.insert(program.after.end(), read.after.begin(), read.after.end());
    program.first.push_back(static_cast<std::uint32_t>(program.after.size()));
  }
  return program;
}

/// Whether memories have the places that the steps use: a part of the buffer only, for some.
void check_memory(const Place& place, const cost::CollectiveProgram& p,
                  const std::vector<ReadStep>& steps) {
  const auto outside = [&](int rank, Buffer buffer, int chunk, int count) {
    return memory_chunk(p, rank, buffer, chunk + count - 1) >= memory_size(p);
  };
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const cost::Step& s = steps[i].step;
    if (outside(s.from, s.source_buffer, s.source, s.count) ||
        outside(s.to, s.target_buffer, s.target, s.count)) {
      place.fail("step " + std::to_string(i) + " outside its rank's part of the buffer",
                 "chunks / ranks chunks");
    }
  }
}

}  // namespace

std::optional<cost::CollectiveProgram> read_program(const Place& place) {
  const std::size_t before = place.source->problems->errors().size();
  Reader in(place);
  cost::CollectiveProgram program;
  program.name = read_text(in.take("program"), "program");
  program.op = read_choice<cost::CollectiveOp>(in.take("collective"), kOps);
  program.ranks = static_cast<int>(read_count(in.take("ranks"), kRanks));
  const Place chunks = in.take("chunks");
  program.chunks = static_cast<int>(read_count(chunks, kChunks));
  program.scratch = static_cast<int>(read_count(in.take("scratch"), {0, kChunks.most}, 0));
  program.in_place = read_flag(in.take("in_place"), program.op != all_to_all);
  const std::vector<Place> entries = read_entries(in.take("steps"));
  in.finish();
  if (place.source->problems->errors().size() != before) { return std::nullopt; }
  const bool whole = program.op == all_reduce || program.op == reduce || program.op == broadcast;
  if (!whole && program.chunks % program.ranks != 0) {
    chunks.fail(std::to_string(program.chunks),
                "a multiple of the " + std::to_string(program.ranks) + " ranks");
  }
  if (const auto much = too_much_memory(program)) {
    chunks.fail(*much, "a program that can be checked");
  }
  if (place.source->problems->errors().size() != before) { return std::nullopt; }
  std::vector<ReadStep> steps;
  bool stated = false;
  for (const Place& entry : entries) {
    steps.push_back(
        read_step(entry, {program.ranks, program.chunks, program.scratch}, entries.size()));
    stated = stated || steps.back().has_after;
  }
  if (place.source->problems->errors().size() == before) { check_memory(place, program, steps); }
  if (place.source->problems->errors().size() != before) { return std::nullopt; }
  std::int64_t moves = 0;
  for (const ReadStep& read : steps) { moves += read.step.count; }
  if (const auto much = too_many_moves(moves)) {
    place.fail(*much, "a program that can be checked");
    return std::nullopt;
  }
  return stated ? as_stated(std::move(program), steps) : in_order(program, steps);
}

std::string to_json_text(const cost::CollectiveProgram& p) {
  std::ostringstream out;
  out << "{\n  \"program\": " << Json(p.name).dump(-1, ' ', false, Json::error_handler_t::replace)
      << ",\n  \"collective\": \"" << name_of(p.op) << "\",\n  \"ranks\": " << p.ranks
      << ",\n  \"chunks\": " << p.chunks << ",\n  \"scratch\": " << p.scratch
      << ",\n  \"in_place\": " << (p.in_place ? "true" : "false") << ",\n  \"steps\": [";
  for (cost::StepId i = 0; i < p.steps.size(); ++i) {
    const cost::Step& s = p.steps[i];
    out << (i == 0 ? "\n" : ",\n") << "    {\"from\": " << s.from << ", \"to\": " << s.to
        << R"(, "source": ")" << name_of(s.source_buffer) << ' ' << s.source << R"(", "target": ")"
        << name_of(s.target_buffer) << ' ' << s.target << '"';
    if (s.count != 1) { out << ", \"count\": " << s.count; }
    if (s.reduce) { out << ", \"reduce\": true"; }
    if (s.channel != 0) { out << ", \"channel\": " << int{s.channel}; }
    out << ", \"after\": [";
    const char* separator = "";
    for (const cost::StepId before : dependencies(p, i)) {
      out << std::exchange(separator, ", ") << before;
    }
    out << "]}";
  }
  out << "\n  ]\n}\n";
  return out.str();
}

}  // namespace tsim::sim
