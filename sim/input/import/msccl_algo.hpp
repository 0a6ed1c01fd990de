// An MSCCL algorithm as its file states it: thread blocks with their steps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cost/programs/program.hpp"
#include "sim/input/import/xml_document.hpp"

namespace tsim::sim {

/// What a step does: receive, add what is there to what came in, keep the result, send it on; or
/// move or add inside the rank.
struct MscclAction {
  std::string_view name;
  bool receives = false, adds = false, keeps = false, sends = false, local = false;
};

struct MscclPlace {
  cost::Buffer buffer{};
  int chunk = 0;
  bool operator==(const MscclPlace&) const = default;
};

struct MscclStep {
  const MscclAction* action = nullptr;
  MscclPlace source, target;
  int count = 1;
  int wait_block = -1, wait_step = -1;  // -1: for none
  std::string place;                    // "line:column"
};

struct MscclBlock {
  int rank = 0, id = 0;
  int send = -1, recv = -1;  // peers
  int channel = 0;
  std::vector<MscclStep> steps;
};

struct MscclAlgo {
  std::string name;
  cost::CollectiveOp op{};
  int ranks = 1, chunks = 1, scratch = 0;
  bool in_place = true;
  std::vector<MscclBlock> blocks;  // by rank, then by id
  std::vector<std::size_t> first;  // by rank: its first block; one entry more than ranks
};

/// MSCCL's word for a collective; empty when it has none.
std::string_view msccl_name(cost::CollectiveOp op);

/// Reads and checks each element by itself; nothing when there are problems.
std::optional<MscclAlgo> read_algo(const XmlElement& algo, Problems& problems);

}  // namespace tsim::sim
