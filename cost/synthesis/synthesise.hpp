// Programs for a collective on given wires, made to measure.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cost/collectives.hpp"
#include "cost/programs/program.hpp"
#include "cost/synthesis/bound.hpp"
#include "cost/synthesis/routes.hpp"

namespace tsim::cost {

/// What is to be synthesised. Ranks are places in `devices`.
struct SynthesisRequest {
  CollectiveOp op{};
  std::vector<int> devices;
  Bytes payload;   // S of the nccl-tests convention
  int pieces = 0;  // that a rank's part is cut into; 0: several numbers are tried
  std::vector<std::pair<int, int>> links{};      // that may be used, from rank to rank; empty: all
  std::vector<synthesis::Rotation> rotations{};  // of ranks, that change nothing
};

/// Time of a program alone on the wires with a library's costs, every step an event.
using Judge = std::function<Seconds(const CollectiveProgram&, const StepCosts&)>;
/// Told how many of how many candidates have been judged.
using Progress = std::function<void(int done, int all)>;

/// A program that was considered.
struct Candidate {
  std::string name;  // an algorithm of the library, or "synthesised, ..."
  bool of_library = false;
  std::string protocol;  // the regime of the library that it runs in
  std::size_t steps = 0;
  Seconds least{};     // that it can take: its longest chain of steps, its busiest channel
  Seconds time{};      // as judged
  bool judged = true;  // false: its least time is beyond the best one's
};

struct Synthesis {
  CollectiveProgram program;
  StepCosts costs{};  // of the library, for its steps
  Seconds time{};
  std::size_t winner = 0;  // in `candidates`
  std::vector<Candidate> candidates;
  synthesis::LowerBound bound;
};

/// The fastest of what the library has and of programs synthesised for the wires in the manner of
/// TACCL [Shah et al., arXiv:2111.04867]: routes that load no channel more than they must (several
/// tastes, several numbers of pieces), an order of steps for every connection, and neighbouring
/// chunks joined where nothing waits longer for it. An all-reduce is a reduce-scatter and an
/// all-gather, a reduce to one rank and a broadcast from it, or, for small payloads, everybody's
/// buffer sent to everybody. Of programs within half a per cent the one with the fewest steps is
/// taken, but none that is slower than a program of the library. Equal input gives equal programs.
/// 2 to 64 distinct devices, payload >= 0; an operation that moves data between them, not
/// send_recv. Throws Unreachable when the links do not lead from every rank to every other one.
Synthesis synthesise(const SynthesisRequest& request, Router& router, const Judge& judge,
                     const Progress& progress = {});

/// Operations that synthesise() takes.
bool can_synthesise(CollectiveOp op);

}  // namespace tsim::cost
