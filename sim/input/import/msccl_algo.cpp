#include "sim/input/import/msccl_algo.hpp"

#include <algorithm>
#include <array>

#include "sim/input/suggest.hpp"

namespace tsim::sim {
namespace {

constexpr int kMostRanks = 1024, kMostChunks = 1 << 16;

// [microsoft/msccl, src/include/devcomm.h]
constexpr std::array kActions{
    MscclAction{.name = "s", .sends = true},
    MscclAction{.name = "r", .receives = true, .keeps = true},
    MscclAction{.name = "rcs", .receives = true, .keeps = true, .sends = true},
    MscclAction{.name = "rrc", .receives = true, .adds = true, .keeps = true},
    MscclAction{.name = "rrcs", .receives = true, .adds = true, .keeps = true, .sends = true},
    MscclAction{.name = "rrs", .receives = true, .adds = true, .sends = true},
    MscclAction{.name = "cpy", .keeps = true, .local = true},
    MscclAction{.name = "re", .adds = true, .keeps = true, .local = true},
    MscclAction{.name = "nop"}};

struct NamedOp {
  std::string_view name;
  cost::CollectiveOp op{};
};
using enum cost::CollectiveOp;
constexpr std::array kOps{NamedOp{"allreduce", all_reduce},
                          NamedOp{"allgather", all_gather},
                          NamedOp{"reducescatter", reduce_scatter},
                          NamedOp{"alltoall", all_to_all},
                          NamedOp{"broadcast", broadcast},
                          NamedOp{"reduce", reduce},
                          NamedOp{"gather", gather},
                          NamedOp{"scatter", scatter},
                          NamedOp{"reduce_scatter", reduce_scatter},
                          NamedOp{"all_reduce", all_reduce},
                          NamedOp{"all_gather", all_gather},
                          NamedOp{"all_to_all", all_to_all}};

template <class Row>
const Row* row_named(std::span<const Row> rows, std::string_view name) {
  const auto found = std::ranges::find(rows, name, &Row::name);
  return found == rows.end() ? nullptr : &*found;
}

template <class Row>
std::string names_of(std::span<const Row> rows) {
  std::vector<std::string_view> names;
  for (const Row& row : rows) { names.push_back(row.name); }
  return "one of " + join(names);
}

class AlgoReader {
 public:
  explicit AlgoReader(Problems& problems) : problems_(problems) {}

  std::optional<MscclAlgo> read(const XmlElement& element) {
    if (!read_head(element)) { return std::nullopt; }
    std::vector<std::vector<MscclBlock>> by_rank(static_cast<std::size_t>(algo_.ranks));
    std::vector<bool> seen(by_rank.size(), false);
    for (const XmlElement& gpu : element.children) {
      if (gpu.name != "gpu") { continue; }
      const XmlAttributes attributes(gpu, problems_);
      const int rank = attributes.integer("id");
      if (rank < 0 || rank >= algo_.ranks || seen[static_cast<std::size_t>(rank)]) {
        attributes.fail("id", std::to_string(rank),
                        "each of 0 to " + std::to_string(algo_.ranks - 1) + " once");
        continue;
      }
      seen[static_cast<std::size_t>(rank)] = true;
      read_gpu(gpu, rank, by_rank[static_cast<std::size_t>(rank)]);
    }
    for (std::size_t rank = 0; rank < seen.size(); ++rank) {
      if (!seen[rank]) {
        XmlAttributes(element, problems_)
            .fail("", "no gpu " + std::to_string(rank), "ngpus of them");
        break;
      }
      algo_.first.push_back(algo_.blocks.size());
      std::ranges::move(by_rank[rank], std::back_inserter(algo_.blocks));
    }
    algo_.first.push_back(algo_.blocks.size());
    if (!problems_.empty()) { return std::nullopt; }
    return std::move(algo_);
  }

 private:
  /// Whether a figure is within its limits; says so if it is not.
  static bool within(const XmlAttributes& in, std::string_view attribute, int value, int least,
                     int most) {
    if (value >= least && value <= most) { return true; }
    in.fail(attribute, std::to_string(value),
            std::to_string(least) + " to " + std::to_string(most));
    return false;
  }

  /// The largest scratch buffer of all GPUs; false if one of them is out of limits.
  bool read_scratch(const XmlElement& element) {
    for (const XmlElement& gpu : element.children) {
      const XmlAttributes in(gpu, problems_);
      const int scratch = in.integer("s_chunks", 0);
      if (!within(in, "s_chunks", scratch, 0, kMostChunks)) { return false; }
      algo_.scratch = std::max(algo_.scratch, scratch);
    }
    return true;
  }

  bool read_head(const XmlElement& element) {
    const XmlAttributes in(element, problems_);
    algo_.name = element.text("name");
    const std::string coll = in.required("coll");
    const auto* op = row_named<NamedOp>(kOps, coll);
    if (op == nullptr && !coll.empty()) {
      in.fail("coll", in_quotes(coll), names_of<NamedOp>(std::span(kOps).first(8)),
              coll == "custom" ? "a custom collective does not say what it should do" : "");
    }
    if (op == nullptr) { return false; }
    algo_.op = op->op;
    algo_.ranks = in.integer("ngpus");
    algo_.chunks = in.integer("nchunksperloop");
    if (!within(in, "ngpus", algo_.ranks, 1, kMostRanks)) { return false; }
    if (!within(in, "nchunksperloop", algo_.chunks, 1, kMostChunks)) { return false; }
    const bool whole = algo_.op == all_reduce || algo_.op == reduce || algo_.op == broadcast;
    if (!whole && algo_.chunks % algo_.ranks != 0) {
      in.fail("nchunksperloop", std::to_string(algo_.chunks),
              "a multiple of the " + std::to_string(algo_.ranks) + " GPUs");
      return false;
    }
    algo_.in_place = in.integer("inplace", algo_.op == all_reduce ? 1 : 0) != 0;
    return read_scratch(element);
  }

  void read_gpu(const XmlElement& gpu, int rank, std::vector<MscclBlock>& blocks) {
    for (const XmlElement& tb : gpu.children) {
      if (tb.name != "tb") { continue; }
      const XmlAttributes in(tb, problems_);
      MscclBlock block{rank,
                       in.integer("id"),
                       in.integer("send", -1),
                       in.integer("recv", -1),
                       in.integer("chan", 0),
                       {}};
      if (block.id != static_cast<int>(blocks.size())) {
        in.fail("id", std::to_string(block.id),
                std::to_string(blocks.size()) + ", as blocks are numbered in their order");
      }
      check_peer(in, "send", block.send, rank);
      check_peer(in, "recv", block.recv, rank);
      if (block.channel < 0 || block.channel > 255) {
        in.fail("chan", std::to_string(block.channel), "0 to 255");
        block.channel = 0;
      }
      for (const XmlElement& step : tb.children) {
        if (step.name == "step") { read_step(step, block); }
      }
      blocks.push_back(std::move(block));
    }
  }

  void check_peer(const XmlAttributes& in, std::string_view attribute, int peer, int rank) {
    if (peer < -1 || peer >= algo_.ranks || peer == rank) {
      in.fail(attribute, std::to_string(peer), "another GPU, or -1 for none");
    }
  }

  void read_step(const XmlElement& element, MscclBlock& block) {
    const XmlAttributes in(element, problems_);
    const std::string type = in.required("type");
    MscclStep step;
    step.place = element.place;
    step.action = row_named<MscclAction>(kActions, type);
    if (step.action == nullptr) {
      if (!type.empty()) { in.fail("type", in_quotes(type), names_of<MscclAction>(kActions)); }
      return;
    }
    if (in.integer("s") != static_cast<int>(block.steps.size())) {
      in.fail("s", std::string(element.text("s")),
              std::to_string(block.steps.size()) + ", as steps are numbered in their order");
    }
    const MscclAction& action = *step.action;
    if ((action.sends && block.send < 0) || (action.receives && block.recv < 0)) {
      in.fail("type", in_quotes(type), "a step without peers",
              "the thread block has send=\"" + std::to_string(block.send) + "\" recv=\"" +
                  std::to_string(block.recv) + "\"");
    }
    step.count = in.integer("cnt", 1);
    if (step.count < 1 || step.count > algo_.chunks) {
      in.fail("cnt", std::to_string(step.count), "1 to " + std::to_string(algo_.chunks));
      step.count = 1;
    }
    const bool reads = action.local || action.adds || (action.sends && !action.receives);
    if (reads) { step.source = read_place(in, element, "src", step.count); }
    if (action.keeps) { step.target = read_place(in, element, "dst", step.count); }
    step.wait_block = in.integer("depid", -1);
    step.wait_step = in.integer("deps", -1);
    block.steps.push_back(std::move(step));
  }

  MscclPlace read_place(const XmlAttributes& in, const XmlElement& element, const std::string& side,
                        int count) {
    constexpr std::string_view kLetters = "ios";
    const std::string_view letter = element.text(side + "buf");
    const std::size_t buffer =
        letter.size() == 1 ? kLetters.find(letter[0]) : std::string_view::npos;
    if (buffer == std::string_view::npos) {
      in.fail(side + "buf", in_quotes(letter), "i, o or s (input, output, scratch)");
      return {};
    }
    const MscclPlace place{static_cast<cost::Buffer>(buffer), in.integer(side + "off")};
    const int size = size_of(place.buffer);
    if (place.chunk < 0 || place.chunk > size - count) {
      in.fail(side + "off", std::to_string(place.chunk) + " (" + std::to_string(count) + " chunks)",
              "chunks of the " + std::string(name_of(place.buffer)) + ", which has " +
                  std::to_string(size));
    }
    return place;
  }

  int size_of(cost::Buffer buffer) const {
    const int part = algo_.chunks / algo_.ranks;
    const bool gathers = algo_.op == all_gather || algo_.op == gather;
    const bool scatters = algo_.op == reduce_scatter || algo_.op == scatter;
    switch (buffer) {
      case cost::Buffer::input: return gathers ? part : algo_.chunks;
      case cost::Buffer::output: return scatters ? part : algo_.chunks;
      case cost::Buffer::scratch: return algo_.scratch;
    }
    return 0;
  }

  Problems& problems_;
  MscclAlgo algo_;
};

}  // namespace

std::string_view msccl_name(cost::CollectiveOp op) {
  const auto found = std::ranges::find(kOps, op, &NamedOp::op);
  return found == kOps.end() ? std::string_view{} : found->name;
}

std::optional<MscclAlgo> read_algo(const XmlElement& algo, Problems& problems) {
  return AlgoReader(problems).read(algo);
}

}  // namespace tsim::sim
