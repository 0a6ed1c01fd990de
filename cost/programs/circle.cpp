// Steps that wait for each other.
#include <algorithm>
#include <string>

#include "cost/programs/program.hpp"

namespace tsim::cost {
namespace {

/// Whether every step comes after all that it waits for: then there is no circle.
bool in_order(const CollectiveProgram& p) {
  for (StepId i = 0; i < p.steps.size(); ++i) {
    for (const StepId before : dependencies(p, i)) {
      if (before >= i) { return false; }
    }
  }
  return true;
}

/// Takes away steps that wait for none that is left, as long as there are any; true: left.
std::vector<bool> never_run(const CollectiveProgram& p) {
  std::vector<std::vector<StepId>> waiting(p.steps.size());
  std::vector<std::size_t> waits(p.steps.size());
  std::vector<StepId> free;
  for (StepId i = 0; i < p.steps.size(); ++i) {
    waits[i] = dependencies(p, i).size();
    for (const StepId before : dependencies(p, i)) { waiting[before].push_back(i); }
    if (waits[i] == 0) { free.push_back(i); }
  }
  std::vector<bool> left(p.steps.size(), true);
  while (!free.empty()) {
    const StepId step = free.back();
    free.pop_back();
    left[step] = false;
    for (const StepId next : waiting[step]) {
      if (--waits[next] == 0) { free.push_back(next); }
    }
  }
  return left;
}

StepId first_left(const CollectiveProgram& p, StepId step, const std::vector<bool>& left) {
  const auto before = dependencies(p, step);
  return *std::ranges::find_if(before, [&](StepId b) { return left[b]; });
}

}  // namespace

std::vector<StepId> circle(const CollectiveProgram& p) {
  if (in_order(p)) { return {}; }
  const std::vector<bool> left = never_run(p);
  const auto stuck = std::ranges::find(left, true);
  if (stuck == left.end()) { return {}; }
  // Whoever is stuck waits for one that is: going back must come to a step twice.
  std::vector<bool> seen(p.steps.size());
  auto step = static_cast<StepId>(stuck - left.begin());
  while (!seen[step]) {
    seen[step] = true;
    step = first_left(p, step, left);
  }
  std::vector<StepId> steps{step};
  for (StepId next = first_left(p, step, left); next != step; next = first_left(p, next, left)) {
    steps.push_back(next);
  }
  return steps;
}

std::string describe_circle(std::span<const StepId> steps) {
  constexpr std::size_t kShown = 8;
  std::string text = "steps wait for each other: ";
  for (std::size_t i = 0; i < std::min(steps.size(), kShown); ++i) {
    if (i > 0) { text += ", "; }
    text += std::to_string(steps[i]) + " for " + std::to_string(steps[(i + 1) % steps.size()]);
  }
  if (steps.size() > kShown) {
    text += " and so on, " + std::to_string(steps.size()) + " steps in a circle";
  }
  return text;
}

}  // namespace tsim::cost
