// Samples cut along their tokens into slices that follow each other through a pipeline (TeraPipe).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace tsim::strategies {

/// Time of a slice of `length` tokens behind `context` tokens of the same sample, seconds.
using SliceTime = std::function<double(std::int64_t length, std::int64_t context)>;

/// What slices are cut from, and how finely.
struct SliceProblem {
  std::int64_t sequence = 0;  // tokens
  std::int64_t unit = 1;      // slices are multiples of it; divides `sequence`
  int stages = 1;
  int samples = 1;  // that follow each other through the pipeline, cut alike
};

/// Lengths that sum to the sequence and take least, samples x sum of all slices' times +
/// (stages - 1) x the longest: for each longest time, the least sum with no slice above it, by
/// dynamic programming over the tokens dealt.   [arXiv:2102.07988, sec. 3.3, eq. 4-6]
std::vector<std::int64_t> balanced_slices(const SliceProblem& problem, const SliceTime& time);

/// The formula for given lengths: what a pipeline of equal stages takes for one pass of them.
double slices_time(const std::vector<std::int64_t>& lengths, int stages, const SliceTime& time);

/// `slices` lengths as even as multiples of `unit` allow, longer ones first.
std::vector<std::int64_t> even_slices(std::int64_t sequence, std::int64_t unit, int slices);

}  // namespace tsim::strategies
