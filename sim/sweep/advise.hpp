// The best strategies of a search, explained, and as settings of other programs.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "sim/sweep/run_sweep.hpp"

namespace tsim::sim {

struct Advice {
  Judged judged;
  std::string title;                  // "TP4 x PP16 x DP8, micro-batch 1, ..."
  std::array<std::string, 3> lines;   // what bounds it, what memory it uses, what to try next
  std::string settings;               // of another program; empty: none were asked for
  std::vector<std::string> unstated;  // what these cannot say
};

/// Of the first `count` answers that differ in their degrees, micro-batch or recomputation.
/// `program`: "megatron" (arguments of Megatron-LM), "deepspeed" (JSON), "torchtitan" (TOML) or
/// empty.
std::vector<Advice> advise(const SweepSpec& spec, const SweepReport& report, std::size_t count,
                           std::string_view program);

/// Each as a text that can be pasted. What the program has no setting for is added to `unstated`.
std::string megatron_arguments(const Scenario& s, std::vector<std::string>& unstated);
std::string deepspeed_json(const Scenario& s, std::vector<std::string>& unstated);
std::string torchtitan_toml(const Scenario& s, std::vector<std::string>& unstated);

}  // namespace tsim::sim
