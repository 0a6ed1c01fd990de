// What is timed, as one line of text each: "gemm bf16 nt 4096 1024 1024". The line is the key under
// which the result is found again. No library is needed to read it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tsim::calibrate {

/// One thing to time.
struct Work {
  std::string line;                // as written, blanks reduced to one
  std::string kind;                // its first word
  std::vector<std::string> words;  // the others
};

/// A line that is no work: its number, from 1, and why.
struct BadLine {
  std::size_t number = 0;
  std::string why;
};

/// Reads lines; empty ones and those that begin with '#' are skipped, repeated ones kept once.
std::vector<Work> read_work(std::string_view text, std::vector<BadLine>& bad);

/// The forms that read_work accepts, one a line, for the help.
std::string work_forms();

/// A whole number with an optional binary suffix: "64", "4KiB", "2MiB", "1GiB". -1 when it is none.
std::int64_t to_count(std::string_view word);

/// Shapes of the models in common use, most valuable first; for `gpus` devices.
std::vector<std::string> default_work(int gpus);

}  // namespace tsim::calibrate
