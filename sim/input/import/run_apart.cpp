#include "sim/input/import/run_apart.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <memory>
#include <system_error>

namespace tsim::sim {
namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

File temporary() {
  File file(std::tmpfile(), std::fclose);
  if (!file) { throw std::system_error(errno, std::generic_category(), "a temporary file"); }
  return file;
}

std::string content(std::FILE* file) {
  std::rewind(file);
  std::string text;
  std::array<char, 1U << 16U> block{};
  for (std::size_t n = 0; (n = std::fread(block.data(), 1, block.size(), file)) > 0;) {
    text.append(block.data(), n);
  }
  return text;
}

/// The child's whole life. The first byte says whether the work ended.
int work_into(std::FILE* file, const std::function<std::string()>& work) {
  std::string text;
  try {
    text = "+" + work();
  } catch (const std::exception& error) { text = std::string("-") + error.what(); }
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  return written && std::fflush(file) == 0 ? 0 : 1;
}

std::string signal_text(int signal, const std::string& told) {
  if (signal == SIGALRM) { return "it takes too long"; }
  return told.empty() ? "signal " + std::to_string(signal) : told;
}

}  // namespace

ApartResult run_apart(const std::function<std::string()>& work, unsigned seconds) {
  const File result = temporary(), told = temporary();
  std::cout.flush();
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) { throw std::system_error(errno, std::generic_category(), "starting a process"); }
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(seconds);
    dup2(fileno(told.get()), STDERR_FILENO);
    dup2(fileno(told.get()), STDOUT_FILENO);
    _exit(work_into(result.get(), work));
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) {
      throw std::system_error(errno, std::generic_category(), "waiting for a process");
    }
  }
  const std::string text = content(result.get());
  const bool whole = WIFEXITED(status) && WEXITSTATUS(status) == 0 && !text.empty();
  if (whole) { return {text[0] == '+', text.substr(1)}; }
  const std::string said = content(told.get());
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  return {false, signal_text(signal, said)};
}

}  // namespace tsim::sim
