#include <algorithm>
#include <array>
#include <map>
#include <queue>
#include <sstream>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "sim/input/import/msccl_algo.hpp"
#include "sim/input/import/msccl_xml.hpp"

namespace tsim::sim {
namespace {

using cost::StepId;

/// A step of a thread block, and where others find it.
struct Spot {
  int block = -1, step = -1;
  auto operator<=>(const Spot&) const = default;
};

struct Line {
  std::string type;
  const cost::Step* step = nullptr;  // nullptr: a nop
  Spot wait;
  bool waited_for = false;
};

struct Block {
  int send = -1, recv = -1, channel = 0;
  std::vector<Line> lines;
};

/// Steps in an order in which none comes before what it waits for; shorter when there is none.
std::vector<StepId> ordered(const cost::CollectiveProgram& p) {
  std::vector<std::uint32_t> waits(p.steps.size(), 0);
  std::vector<std::vector<StepId>> next(p.steps.size());
  std::priority_queue<StepId, std::vector<StepId>, std::greater<>> free;
  for (StepId i = 0; i < p.steps.size(); ++i) {
    for (const StepId before : dependencies(p, i)) {
      next[before].push_back(i);
      ++waits[i];
    }
    if (waits[i] == 0) { free.push(i); }
  }
  std::vector<StepId> order;
  while (!free.empty()) {
    order.push_back(free.top());
    free.pop();
    for (const StepId after : next[order.back()]) {
      if (--waits[after] == 0) { free.push(after); }
    }
  }
  return order;
}

/// Deals a program's steps to thread blocks.
class Dealer {
 public:
  explicit Dealer(const cost::CollectiveProgram& program)
      : p_(program), blocks_(static_cast<std::size_t>(program.ranks)), at_(program.steps.size()) {}

  std::vector<std::vector<Block>> deal() {
    const std::vector<StepId> order = ordered(p_);
    if (order.size() < p_.steps.size()) {
      throw std::invalid_argument("steps of the program wait for each other");
    }
    for (const StepId id : order) {
      const cost::Step& step = p_.steps[id];
      check(id);
      if (step.from == step.to) {
        at_[id].from = at_[id].to =
            put(step.from, {-1, -1, step.channel}, id, step.reduce ? "re" : "cpy");
        continue;
      }
      const Spot out = put(step.from, {step.to, -1, step.channel}, id, "s");
      at_[id].to = put(step.to, {-1, step.from, step.channel}, id, step.reduce ? "rrc" : "r");
      at_[id].from = out;
    }
    return std::move(blocks_);
  }

 private:
  /// Where a step is found at its two ranks.
  struct Ends {
    Spot from, to;
  };
  using Peers = std::tuple<int, int, int>;  // send, receive, channel

  /// Every step must share a rank with what it waits for.
  void check(StepId id) const {
    const cost::Step& step = p_.steps[id];
    for (const StepId before : dependencies(p_, id)) {
      const cost::Step& other = p_.steps[before];
      const bool shared = other.from == step.from || other.from == step.to ||
                          other.to == step.from || other.to == step.to;
      if (!shared) {
        throw std::invalid_argument("step " + std::to_string(id) + " waits for step " +
                                    std::to_string(before) + ", which is of other ranks");
      }
    }
  }

  /// The spots at `rank` of what a step waits for, but for those before it in its own block; the
  /// last of each block.
  std::vector<Spot> waits_of(StepId id, int rank, int own_block) const {
    std::map<int, int> last;
    for (const StepId before : dependencies(p_, id)) {
      const cost::Step& other = p_.steps[before];
      for (const auto& [where, spot] :
           {std::pair{other.from, at_[before].from}, std::pair{other.to, at_[before].to}}) {
        if (where != rank || spot.block == own_block) { continue; }
        const auto [entry, is_new] = last.try_emplace(spot.block, spot.step);
        entry->second = std::max(entry->second, spot.step);
      }
    }
    std::vector<Spot> spots;
    spots.reserve(last.size());
    for (const auto& [block, step] : last) { spots.push_back({block, step}); }
    return spots;
  }

  Spot put(int rank, const Peers& peers, StepId id, const std::string& type) {
    auto& of_rank = blocks_[static_cast<std::size_t>(rank)];
    const auto [entry, is_new] =
        numbers_.try_emplace({rank, peers}, static_cast<int>(of_rank.size()));
    const int number = entry->second;
    if (is_new) {
      const auto [send, recv, channel] = peers;
      of_rank.push_back({send, recv, channel, {}});
    }
    std::vector<Spot> waits = waits_of(id, rank, number);
    for (const Spot& spot : waits) { line_at(rank, spot).waited_for = true; }
    std::vector<Line>& lines = of_rank[static_cast<std::size_t>(number)].lines;
    for (; waits.size() > 1; waits.pop_back()) {
      lines.push_back({"nop", nullptr, waits.back(), false});
    }
    lines.push_back({type, &p_.steps[id], waits.empty() ? Spot{} : waits[0], false});
    return {number, static_cast<int>(lines.size()) - 1};
  }

  Line& line_at(int rank, const Spot& spot) {
    return blocks_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(spot.block)]
        .lines[static_cast<std::size_t>(spot.step)];
  }

  const cost::CollectiveProgram& p_;
  std::vector<std::vector<Block>> blocks_;  // by rank
  std::vector<Ends> at_;                    // by step of the program
  std::map<std::pair<int, Peers>, int> numbers_;
};

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '"': result += "&quot;"; break;
      default: result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return result;
}

char letter(cost::Buffer buffer) { return "ios"[static_cast<std::size_t>(buffer)]; }

void print_line(std::ostream& out, std::size_t number, const Line& line) {
  constexpr cost::Step kNothing{};
  const cost::Step& step = line.step == nullptr ? kNothing : *line.step;
  // What adds to a place reads it first, so that it is both.
  const bool added = line.type == "rrc";
  const cost::Buffer source = added ? step.target_buffer : step.source_buffer;
  out << "      <step s=\"" << number << "\" type=\"" << line.type << "\" srcbuf=\""
      << letter(source) << "\" srcoff=\"" << (added ? step.target : step.source) << "\" dstbuf=\""
      << letter(step.target_buffer) << "\" dstoff=\"" << step.target << "\" cnt=\"" << step.count
      << "\" depid=\"" << line.wait.block << "\" deps=\"" << line.wait.step << "\" hasdep=\""
      << (line.waited_for ? 1 : 0) << "\"/>\n";
}

/// Chunks of a rank's input and output.
std::pair<int, int> sizes(const cost::CollectiveProgram& p) {
  using enum cost::CollectiveOp;
  const int part = p.chunks / p.ranks;
  const bool gathers = p.op == all_gather || p.op == gather;
  const bool scatters = p.op == reduce_scatter || p.op == scatter;
  return {gathers ? part : p.chunks, scatters ? part : p.chunks};
}

}  // namespace

std::string to_msccl(const cost::CollectiveProgram& p, std::string_view protocol) {
  const std::string_view coll = msccl_name(p.op);
  if (coll.empty()) {
    throw std::invalid_argument("MSCCL has no collective " + std::string(name_of(p.op)));
  }
  const std::vector<std::vector<Block>> ranks = Dealer(p).deal();
  int channels = 1;
  for (const cost::Step& step : p.steps) { channels = std::max(channels, step.channel + 1); }
  const auto [inputs, outputs] = sizes(p);
  std::ostringstream out;
  out << "<algo name=\"" << escaped(p.name) << "\" proto=\"" << protocol << "\" nchannels=\""
      << channels << "\" nchunksperloop=\"" << p.chunks << "\" ngpus=\"" << p.ranks << "\" coll=\""
      << coll << "\" inplace=\"" << (p.in_place ? 1 : 0) << "\" outofplace=\""
      << (p.in_place ? 0 : 1) << "\" minBytes=\"0\" maxBytes=\"0\">\n";
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    out << "  <gpu id=\"" << rank << "\" i_chunks=\"" << inputs << "\" o_chunks=\"" << outputs
        << "\" s_chunks=\"" << p.scratch << "\">\n";
    for (std::size_t b = 0; b < ranks[rank].size(); ++b) {
      const Block& block = ranks[rank][b];
      out << "    <tb id=\"" << b << "\" send=\"" << block.send << "\" recv=\"" << block.recv
          << "\" chan=\"" << block.channel << "\">\n";
      for (std::size_t s = 0; s < block.lines.size(); ++s) { print_line(out, s, block.lines[s]); }
      out << "    </tb>\n";
    }
    out << "  </gpu>\n";
  }
  out << "</algo>\n";
  return out.str();
}

}  // namespace tsim::sim
