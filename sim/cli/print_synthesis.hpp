// What a synthesis found, for people and for programs.
#pragma once

#include <iosfwd>
#include <string>

#include "sim/net/run_synthesis.hpp"

namespace tsim::cli {

struct SynthesisAnswer {
  const cost::Cluster* cluster = nullptr;
  const cost::SynthesisRequest* request = nullptr;
  const sim::SynthesisRun* run = nullptr;
  std::string automatic;     // the algorithm that the library chooses
  Seconds automatic_time{};  // its steps added up
  bool all_steps = false;
};

void print_synthesis_text(const SynthesisAnswer& answer, std::ostream& out);
void print_synthesis_json(const SynthesisAnswer& answer, std::ostream& out);

}  // namespace tsim::cli
