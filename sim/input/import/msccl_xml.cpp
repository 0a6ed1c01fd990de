// MSCCL algorithms become programs in one of two ways. The exact one gives every receive a buffer
// of its own, as MSCCL's connections have, and keeps the order of every thread block. The short one
// lets a transfer write where it ends at once, and is taken when it works out.
#include "sim/input/import/msccl_xml.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "sim/input/import/msccl_algo.hpp"
#include "sim/input/import/program_limits.hpp"

namespace tsim::sim {
namespace {

using cost::StepId;
using Ids = std::vector<StepId>;

constexpr StepId kNone = 0xffffffffU;

/// Program steps that stand for one step of a thread block.
struct Parts {
  StepId prepare = kNone;   // copies what is to be added to
  StepId incoming = kNone;  // the transfer to this rank
  StepId settle = kNone;    // exact: from the receive's own buffer to where it belongs
  StepId moved = kNone;     // a local move
  StepId outgoing = kNone;  // the transfer from this rank
  int buffer = -1;          // scratch chunk of the receive, or of a sum that is not kept
};

/// Which send belongs to which receive.
struct Connections {
  using Key = std::tuple<int, int, int>;            // from, to, channel
  using End = std::pair<std::size_t, std::size_t>;  // block, step
  std::map<Key, std::vector<End>> sends, receives;
};

bool overlap(const MscclPlace& a, int a_count, const MscclPlace& b, int b_count) {
  return a.buffer == b.buffer && a.chunk < b.chunk + b_count && b.chunk < a.chunk + a_count;
}

class Translator {
 public:
  Translator(const MscclAlgo& algo, bool exact) : algo_(algo), exact_(exact) {
    program_.name = algo.name;
    program_.op = algo.op;
    program_.ranks = algo.ranks;
    program_.chunks = algo.chunks;
    program_.in_place = algo.in_place;
  }

  std::optional<cost::CollectiveProgram> translate(Problems& problems) {
    if (!connect(problems)) { return std::nullopt; }
    for (std::size_t b = 0; b < algo_.blocks.size(); ++b) { make_parts(b); }
    make_transfers();
    walks_.resize(algo_.blocks.size());
    for (std::size_t b = 0; b < algo_.blocks.size(); ++b) {
      if (!advance(b, algo_.blocks[b].steps.size(), problems)) { return std::nullopt; }
    }
    program_.scratch = algo_.scratch + *std::ranges::max_element(scratch_);
    std::int64_t moves = 0;
    for (const cost::Step& step : program_.steps) { moves += step.count; }
    const std::optional<std::string> memory = too_much_memory(program_);
    const std::optional<std::string> much = memory ? memory : too_many_moves(moves);
    if (much) {
      problems.add({.found = *much, .expected = "a program that can be checked"});
      return std::nullopt;
    }
    fill_rows();
    return std::move(program_);
  }

 private:
  const MscclStep& step(const Connections::End& end) const {
    return algo_.blocks[end.first].steps[end.second];
  }
  Parts& parts(const Connections::End& end) { return parts_[end.first][end.second]; }

  /// Pairs sends and receives.
  bool connect(Problems& problems) {
    const std::size_t before = problems.errors().size();
    for (std::size_t b = 0; b < algo_.blocks.size(); ++b) {
      const MscclBlock& block = algo_.blocks[b];
      parts_.emplace_back(block.steps.size());
      for (std::size_t s = 0; s < block.steps.size(); ++s) {
        const MscclAction& action = *block.steps[s].action;
        if (action.sends) {
          connections_.sends[{block.rank, block.send, block.channel}].emplace_back(b, s);
        }
        if (action.receives) {
          connections_.receives[{block.recv, block.rank, block.channel}].emplace_back(b, s);
        }
      }
    }
    check_pairs(connections_.sends, connections_.receives, "send", "receive", problems);
    check_pairs(connections_.receives, connections_.sends, "receive", "send", problems);
    return problems.errors().size() == before;
  }

  using Ends = std::map<Connections::Key, std::vector<Connections::End>>;
  void check_pairs(const Ends& ends, const Ends& others, const std::string& what,
                   const std::string& other, Problems& problems) const {
    for (const auto& [key, list] : ends) {
      const auto found = others.find(key);
      const std::size_t matched = found == others.end() ? 0 : found->second.size();
      const auto [from, to, channel] = key;
      const std::string connection = " from GPU " + std::to_string(from) + " to GPU " +
                                     std::to_string(to) + " over channel " +
                                     std::to_string(channel);
      if (list.size() > matched) {
        std::string alone = "a ";
        alone.append(what).append(connection).append(" without its ").append(other);
        problems.add({.path = step(list[matched]).place,
                      .found = std::move(alone),
                      .expected = "as many of both (" + std::to_string(list.size()) + " and " +
                                  std::to_string(matched) + ")"});
      }
      for (std::size_t i = 0; i < std::min(list.size(), matched); ++i) {
        const MscclStep &a = step(list[i]), &b = step(found->second[i]);
        if (list[i].first != list[0].first) {
          std::string second = "a second thread block for the ";
          second.append(what).append("s").append(connection);
          problems.add({.path = a.place, .found = std::move(second), .expected = "one"});
          break;
        }
        if (a.count == b.count || what == "receive") { continue; }
        problems.add(
            {.path = a.place,
             .found = std::to_string(a.count) + " chunks sent" + connection,
             .expected = std::to_string(b.count) + ", as the receive at " + b.place + " takes"});
      }
    }
  }

  StepId add(const cost::Step& step) {
    program_.steps.push_back(step);
    waits_.emplace_back();
    return static_cast<StepId>(program_.steps.size() - 1);
  }

  StepId add_local(int rank, const MscclPlace& from, const MscclPlace& to, int count, bool adds) {
    return add({.from = rank,
                .to = rank,
                .source = from.chunk,
                .target = to.chunk,
                .count = count,
                .source_buffer = from.buffer,
                .target_buffer = to.buffer,
                .reduce = adds});
  }

  /// Space that the file does not know of.
  MscclPlace own_scratch(int rank, int count) {
    int& used = scratch_[static_cast<std::size_t>(rank)];
    used += count;
    return {cost::Buffer::scratch, algo_.scratch + used - count};
  }

  /// Everything but transfers, which need both ends.
  void make_parts(std::size_t b) {
    const MscclBlock& block = algo_.blocks[b];
    for (std::size_t s = 0; s < block.steps.size(); ++s) {
      const MscclStep& step = block.steps[s];
      const MscclAction& action = *step.action;
      Parts& part = parts_[b][s];
      if (action.local) {
        part.moved = add_local(block.rank, step.source, step.target, step.count, action.adds);
      }
      if (!action.receives) { continue; }
      if (exact_ || !action.keeps) { part.buffer = own_scratch(block.rank, step.count).chunk; }
      make_receive(block.rank, step, part);
    }
  }

  void make_receive(int rank, const MscclStep& step, Parts& part) {
    const MscclAction& action = *step.action;
    const MscclPlace buffer{cost::Buffer::scratch, part.buffer};
    const MscclPlace result = action.keeps ? step.target : buffer;
    if (exact_ && !action.keeps) {
      part.settle = add_local(rank, step.source, buffer, step.count, true);
      return;
    }
    const bool elsewhere = !action.keeps || step.source != step.target;
    if (action.adds && elsewhere) {
      part.prepare = add_local(rank, step.source, result, step.count, false);
    }
    if (exact_) { part.settle = add_local(rank, buffer, step.target, step.count, action.adds); }
  }

  MscclPlace sent_from(const Connections::End& end) {
    const MscclStep& s = step(end);
    if (!s.action->receives) { return s.source; }
    if (s.action->keeps) { return s.target; }
    return {cost::Buffer::scratch, parts(end).buffer};
  }

  void make_transfers() {
    for (const auto& [key, sends] : connections_.sends) {
      const auto& receives = connections_.receives.at(key);
      for (std::size_t i = 0; i < sends.size(); ++i) {
        const MscclPlace from = sent_from(sends[i]);
        const MscclStep& receive = step(receives[i]);
        Parts& arriving = parts(receives[i]);
        const bool buffered = exact_ || !receive.action->keeps;
        const MscclPlace to =
            buffered ? MscclPlace{cost::Buffer::scratch, arriving.buffer} : receive.target;
        const auto [sender, receiver, channel] = key;
        const StepId id = add({.from = sender,
                               .to = receiver,
                               .source = from.chunk,
                               .target = to.chunk,
                               .count = receive.count,
                               .source_buffer = from.buffer,
                               .target_buffer = to.buffer,
                               .reduce = receive.action->adds && !exact_,
                               .channel = static_cast<std::uint8_t>(channel)});
        parts(sends[i]).outgoing = id;
        arriving.incoming = id;
      }
    }
  }

  /// How far the walk over a block's steps has come, and what later steps wait for.
  struct Walk {
    std::size_t at = 0;
    bool busy = false;
    Ids last;                       // what was received or moved last, or what a nop waited for
    Ids sends;                      // sent since
    std::vector<std::size_t> sent;  // all steps that sent
    std::vector<Ids> finished;      // by step: all that ends before it counts as done
  };

  /// Gives the steps of a block before `end` their dependencies.
  bool advance(std::size_t b, std::size_t end, Problems& problems) {
    Walk& walk = walks_[b];
    if (walk.at >= end) { return true; }
    const MscclBlock& block = algo_.blocks[b];
    if (walk.busy) {
      problems.add({.path = block.steps[walk.at].place,
                    .found = "a step that waits, by way of others, for itself"});
      return false;
    }
    walk.busy = true;
    for (; walk.at < end; ++walk.at) {
      Ids gate = walk.last;
      if (!wait_for_other(b, gate, problems)) { return false; }
      take(b, std::move(gate));
    }
    walk.busy = false;
    return true;
  }

  bool wait_for_other(std::size_t b, Ids& gate, Problems& problems) {
    const MscclBlock& block = algo_.blocks[b];
    const MscclStep& step = block.steps[walks_[b].at];
    if (step.wait_block < 0 || step.wait_step < 0) { return true; }
    const std::size_t first = algo_.first[static_cast<std::size_t>(block.rank)];
    const std::size_t other = first + static_cast<std::size_t>(step.wait_block);
    const auto until = static_cast<std::size_t>(step.wait_step);
    if (other >= algo_.first[static_cast<std::size_t>(block.rank) + 1] ||
        until >= algo_.blocks[other].steps.size()) {
      problems.add({.path = step.place,
                    .found = "a wait for step " + std::to_string(step.wait_step) +
                             " of thread block " + std::to_string(step.wait_block),
                    .expected = "one that its GPU has"});
      return false;
    }
    if (!advance(other, until + 1, problems)) { return false; }
    const Ids& done = walks_[other].finished[until];
    gate.insert(gate.end(), done.begin(), done.end());
    return true;
  }

  void require(StepId id, const Ids& gate) {
    if (id != kNone) { waits_[id].insert(waits_[id].end(), gate.begin(), gate.end()); }
  }
  void require(StepId id, StepId before) {
    if (id != kNone && before != kNone) { waits_[id].push_back(before); }
  }

  /// What a step that writes must wait for besides: sends of its block that may still read.
  Ids readers(std::size_t b, const MscclStep& step) {
    const Walk& walk = walks_[b];
    if (exact_) { return walk.sends; }
    Ids result;
    for (const std::size_t s : walk.sent) {
      const Connections::End end{b, s};
      if (overlap(sent_from(end), this->step(end).count, step.target, step.count)) {
        result.push_back(parts(end).outgoing);
      }
    }
    return result;
  }

  void take(std::size_t b, Ids gate) {
    Walk& walk = walks_[b];
    const MscclStep& step = algo_.blocks[b].steps[walk.at];
    const MscclAction& action = *step.action;
    const Parts& part = parts_[b][walk.at];
    if (action.receives || action.local) {
      if (action.keeps || exact_) {
        const Ids reading = readers(b, step);
        gate.insert(gate.end(), reading.begin(), reading.end());
      }
      require(part.prepare, gate);
      const StepId effect = action.local ? part.moved : exact_ ? part.settle : part.incoming;
      require(effect, gate);
      require(effect, part.prepare);
      if (exact_) { require(effect, part.incoming); }
      require(part.outgoing, effect);
      walk.last = {effect};
      walk.sends.clear();
    } else if (action.sends) {
      require(part.outgoing, gate);
    } else {
      walk.last = std::move(gate);
      std::ranges::sort(walk.last);
      walk.last.erase(std::unique(walk.last.begin(), walk.last.end()), walk.last.end());
    }
    if (action.sends) {
      walk.sends.push_back(part.outgoing);
      walk.sent.push_back(walk.at);
    }
    Ids finished = walk.last;
    finished.insert(finished.end(), walk.sends.begin(), walk.sends.end());
    walk.finished.push_back(std::move(finished));
  }

  void fill_rows() {
    program_.first = {0};
    for (Ids& ids : waits_) {
      std::ranges::sort(ids);
      ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
      program_.after.insert(program_.after.end(), ids.begin(), ids.end());
      program_.first.push_back(static_cast<std::uint32_t>(program_.after.size()));
    }
  }

  const MscclAlgo& algo_;
  bool exact_;
  cost::CollectiveProgram program_;
  Connections connections_;
  std::vector<std::vector<Parts>> parts_;  // by block and step
  std::vector<Ids> waits_;                 // by program step
  std::vector<int> scratch_ = std::vector<int>(static_cast<std::size_t>(algo_.ranks), 0);
  std::vector<Walk> walks_;
};

}  // namespace

std::optional<cost::CollectiveProgram> read_msccl(const XmlElement& element, Problems& problems) {
  const std::optional<MscclAlgo> algo = read_algo(element, problems);
  if (!algo) { return std::nullopt; }
  std::optional<cost::CollectiveProgram> exact = Translator(*algo, true).translate(problems);
  if (!exact || fault(*exact)) { return exact; }
  std::optional<cost::CollectiveProgram> shorter = Translator(*algo, false).translate(problems);
  return shorter && !fault(*shorter) ? shorter : exact;
}

}  // namespace tsim::sim
