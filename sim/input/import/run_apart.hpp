// Work in a process of its own, for libraries that keep one state a process and end it on errors.
#pragma once

#include <functional>
#include <string>

namespace tsim::sim {

struct ApartResult {
  bool ended = false;  // the work ended; else `text` is why it did not
  std::string text;    // what the work returned
};

/// Runs `work` in a child process, for `seconds` at most. What it throws, what it writes to the
/// standard error output before it dies, or the signal that ended it becomes the reason. Throws
/// std::system_error when there can be no child.
ApartResult run_apart(const std::function<std::string()>& work, unsigned seconds);

}  // namespace tsim::sim
