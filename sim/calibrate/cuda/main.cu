// tsim-measure: times kernels, copies and collectives on the NVIDIA devices of this machine, and
// writes them down for tsim. Needs CUDA alone; NCCL is used when it was found.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <sstream>

#include "sim/calibrate/cuda/attention.hpp"
#include "sim/calibrate/cuda/collectives.hpp"
#include "sim/calibrate/cuda/copies.hpp"
#include "sim/calibrate/cuda/cuda_stack.hpp"
#include "sim/calibrate/cuda/host.hpp"
#include "sim/calibrate/cuda/kernels.hpp"
#include "sim/calibrate/cuda/products.hpp"
#include "sim/calibrate/journal.hpp"
#include "sim/calibrate/work.hpp"

namespace {

using namespace tsim::calibrate;

constexpr int kNoAnswer = 1;
constexpr int kWrongInput = 2;
volatile std::sig_atomic_t interrupted = 0;  // set by a signal handler, which may touch no more

struct Options {
  std::string work;   // empty: the default work
  std::string stack;  // of a check; empty: none
  std::string out;
  double budget = 480;  // seconds
  bool forms = false, list = false, help = false;
};

constexpr const char* kHelp =
    R"(tsim-measure times kernels, copies and collectives on the NVIDIA devices of this machine.
Usage: tsim-measure --out FILE [--work FILE] [--budget SECONDS]
       tsim-measure --out FILE --check FILE

  --out FILE        Where the measurements go; those that are there already are kept, not repeated
  --check FILE      Train the stack that FILE describes instead, and write its times to --out
  --work FILE       What to time, a line each (--forms); without it, shapes of common models
  --budget SECONDS  Stop after this time (480); the lines come in the order of their value
  --forms           Print what a line may be
  --list            Print the lines that would be timed without --work
Exit status: 0 measured, 1 not (no device, interrupted), 2 wrong input.
)";

/// Nothing, and a message on stderr, when the command line is wrong.
std::optional<Options> options_of(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool valued =
        word == "--out" || word == "--work" || word == "--budget" || word == "--check";
    if (valued && i + 1 == argc) {
      std::cerr << "tsim-measure: " << word << ": found nothing after it, expected a value\n";
      return std::nullopt;
    }
    if (word == "--out") {
      options.out = argv[++i];
    } else if (word == "--work") {
      options.work = argv[++i];
    } else if (word == "--check") {
      options.stack = argv[++i];
    } else if (word == "--budget") {
      options.budget = std::atof(argv[++i]);
      if (!(options.budget > 0)) {
        std::cerr << "tsim-measure: --budget: found \"" << argv[i]
                  << "\", expected seconds above 0\n";
        return std::nullopt;
      }
    } else if (word == "--forms") {
      options.forms = true;
    } else if (word == "--list") {
      options.list = true;
    } else if (word == "--help" || word == "-h") {
      options.help = true;
    } else {
      std::cerr << "tsim-measure: unknown option \"" << word << "\"; --help lists what there is\n";
      return std::nullopt;
    }
  }
  return options;
}

int device_count() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) { return 0; }
  return count;
}

std::optional<std::string> text_of(const std::string& file) {
  std::ifstream in(file);
  if (!in) {
    std::cerr << "tsim-measure: cannot read " << file << '\n';
    return std::nullopt;
  }
  std::ostringstream all;
  all << in.rdbuf();
  return all.str();
}

/// The work to do; nothing, and messages, when the file is unreadable or has bad lines.
std::optional<std::vector<Work>> work_of(const Options& options) {
  std::string text;
  if (options.work.empty()) {
    for (const std::string& line : default_work(device_count())) { text += line + '\n'; }
  } else {
    const std::optional<std::string> read = text_of(options.work);
    if (!read) { return std::nullopt; }
    text = *read;
  }
  std::vector<BadLine> bad;
  std::vector<Work> works = read_work(text, bad);
  for (const BadLine& line : bad) {
    std::cerr << options.work << ", line " << line.number << ": " << line.why << '\n';
  }
  if (!bad.empty()) {
    std::cerr << "nothing was measured; --forms lists what a line may be\n";
    return std::nullopt;
  }
  return works;
}

/// The stack of a check; nothing, and messages, when the file is unreadable or has mistakes.
std::optional<StackShape> stack_of(const std::string& file) {
  const std::optional<std::string> text = text_of(file);
  if (!text) { return std::nullopt; }
  std::vector<std::string> bad;
  const StackShape shape = read_stack(*text, bad);
  for (const std::string& line : bad) { std::cerr << file << ": " << line << '\n'; }
  return bad.empty() ? std::optional(shape) : std::nullopt;
}

long count(const Work& work, std::size_t i) { return to_count(work.words[i]); }

Summary time_one(const Work& w, bool cold, cudaStream_t stream, Collectives& collectives) {
  if (w.kind == "gemm") {
    return time_product({w.words[0], w.words[1], 1, count(w, 2), count(w, 3), count(w, 4)}, cold,
                        stream);
  }
  if (w.kind == "bmm") {
    return time_product(
        {w.words[0], w.words[1], count(w, 2), count(w, 3), count(w, 4), count(w, 5)}, cold, stream);
  }
  if (w.kind == "grouped") {
    return time_groups({w.words[0], w.words[1], count(w, 2), count(w, 3), count(w, 4), count(w, 5)},
                       stream);
  }
  if (w.kind == "attention") {
    return time_attention({.dtype = w.words[0],
                           .heads = count(w, 3),
                           .queries = count(w, 4),
                           .keys = count(w, 5),
                           .width = count(w, 6),
                           .causal = w.words[2] == "causal"},
                          w.words[1] == "bwd", cold, stream);
  }
  if (w.kind == "map") {
    return time_map(w.words[1], w.words[0], static_cast<std::size_t>(count(w, 2)), cold, stream);
  }
  if (w.kind == "adam") { return time_adam(static_cast<std::size_t>(count(w, 0)), stream); }
  if (w.kind == "memcpy") {
    return time_copy(w.words[0], static_cast<std::size_t>(count(w, 1)), stream);
  }
  if (w.kind == "pair") {
    return time_pair({static_cast<int>(count(w, 0)) - 1, static_cast<int>(count(w, 1)) - 1},
                     static_cast<std::size_t>(count(w, 2)));
  }
  if (w.kind == "launch") { return time_launch(w.words[0], stream); }
  if (w.kind == "collective") {
    return collectives.time(w.words[0], static_cast<int>(count(w, 1)),
                            static_cast<std::size_t>(count(w, 2)));
  }
  return time_rows(w.kind, w.words[0], w.words[1] == "bwd", count(w, 2), count(w, 3), stream);
}

void put(Object& object, const std::string& prefix, const Summary& summary) {
  object.number(prefix + "us", summary.median)
      .number(prefix + "low", summary.low)
      .number(prefix + "high", summary.high)
      .number(prefix + "count", summary.count);
  if (!summary.outliers.empty()) { object.numbers(prefix + "outliers", summary.outliers); }
}

/// One rank: beside a copy; several: beside an all-reduce among them.
Overlap overlap_of(const Work& w, Collectives& collectives) {
  const std::array<long, 3> mnk{count(w, 0), count(w, 1), count(w, 2)};
  const auto ranks = static_cast<int>(count(w, 3));
  const auto bytes = static_cast<std::size_t>(count(w, 4));
  return ranks == 1 ? time_beside_copy(mnk, bytes) : collectives.overlap(mnk, ranks, bytes);
}

void put_overlap(Object& object, const Overlap& o) {
  put(object, "product_", o.first);
  put(object, "other_", o.second);
  put(object, "", o.both);
  put(object, "product_alone_", o.first_beside.alone);
  put(object, "product_beside_", o.first_beside.beside);
  put(object, "other_alone_", o.second_beside.alone);
  put(object, "other_beside_", o.second_beside.beside);
  object.number("product_slowdown", o.first_beside.slowdown());
  object.number("other_slowdown", o.second_beside.slowdown());
}

/// The line of one work's measurement.
std::string measure(const Work& work, cudaStream_t stream, Collectives& collectives) {
  Object object;
  object.text("work", work.line);
  const bool has_cold =
      work.kind == "gemm" || work.kind == "bmm" || work.kind == "map" || work.kind == "attention";
  try {
    if (work.kind == "overlap") {
      put_overlap(object, overlap_of(work, collectives));
    } else {
      put(object, "", time_one(work, false, stream, collectives));
      if (has_cold) { put(object, "cold_", time_one(work, true, stream, collectives)); }
    }
  } catch (const OutOfMemory& reason) {
    object.text("skipped", std::string("out of memory: ") + reason.what());
  } catch (const NotHere& reason) { object.text("skipped", reason.what()); }
  return object.str();
}

std::string with_state(const std::string& line, const DeviceState& state) {
  Object object;
  object.number("sm_mhz", state.sm_mhz)
      .number("celsius", state.celsius)
      .number("watts", state.watts);
  return line.substr(0, line.size() - 1) + "," + object.str().substr(1);
}

std::string header(const Monitor& monitor) {
  cudaDeviceProp device{};
  check(cudaGetDeviceProperties(&device, 0));
  int runtime = 0;
  check(cudaRuntimeGetVersion(&runtime));
  const DeviceState state = monitor.state(0);
  Object object;
  return object.text("tsim", "measurements 1")
      .text("version", TSIM_VERSION)
      .text("date", utc_now())
      .text("device", device.name)
      .number("devices", device_count())
      .number("memory_bytes", static_cast<double>(device.totalGlobalMem))
      .number("units", device.multiProcessorCount)
      .number("cache_bytes", device.l2CacheSize)
      .text("capability", std::to_string(device.major) + "." + std::to_string(device.minor))
      .text("driver", monitor.driver())
      .text("cuda", std::to_string(runtime / 1000) + "." + std::to_string(runtime % 1000 / 10))
      .text("cublaslt", blas_version())
      .text("cudnn", dnn_version())
      .text("nccl", Collectives::version())
      .text("processor", processor_name())
      .number("memory_mhz", state.memory_mhz)
      .str();
}

void warn_of_others(const Monitor& monitor) {
  for (int device = 0; device < device_count(); ++device) {
    for (const unsigned process : monitor.others(device)) {
      std::cerr << "tsim-measure: warning: process " << process << " uses device " << device
                << " too; times may be longer than alone\n";
    }
  }
}

void show_progress(std::size_t done, std::size_t all, const std::string& what) {
  if (isatty(STDERR_FILENO) == 0) { return; }
  std::cerr << "\r\x1b[K" << done << " of " << all << "  " << what << std::flush;
}

int measure_all(const std::vector<Work>& works, const Options& options) {
  const Monitor monitor;
  warn_of_others(monitor);
  check(cudaSetDevice(0));
  Journal journal(options.out, header(monitor));
  Collectives collectives;
  const Stream stream;
  const auto start = std::chrono::steady_clock::now();
  std::size_t done = 0;
  std::size_t fresh = 0;
  bool late = false;
  for (const Work& work : works) {
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    late = took.count() > options.budget;
    if (interrupted != 0 || late) { break; }
    show_progress(done++, works.size(), work.line);
    if (journal.has(work.line)) { continue; }
    const std::string line = measure(work, stream, collectives);
    journal.add(work.line, with_state(line, monitor.state(0)));
    ++fresh;
  }
  show_progress(done, works.size(), "\n");
  if (interrupted != 0) {
    std::cerr << "tsim-measure: interrupted; the same command goes on where it stopped\n";
    return kNoAnswer;
  }
  journal.finish();
  std::cout << options.out << ": " << fresh << " measured, " << done - fresh
            << " were there already" << (late ? ", the rest left for want of time\n" : "\n");
  return 0;
}

/// Trains the stack and writes one line; the file appears when all is measured.
int measure_stack(const StackShape& shape, const std::string& out) {
  const Monitor monitor;
  warn_of_others(monitor);
  check(cudaSetDevice(0));
  const std::string machine = header(monitor);
  std::string line;
  try {
    const StackTimes times = run_cuda_stack(shape);
    const std::string facts = machine.substr(1, machine.size() - 2);
    const std::string tag = "\"tsim\":\"measurements 1\",";
    line = stack_line(shape, times, facts.substr(facts.starts_with(tag) ? tag.size() : 0));
  } catch (const OutOfMemory& reason) {
    std::cerr << "tsim-measure: the stack does not fit: " << reason.what() << '\n';
    return kNoAnswer;
  }
  const std::string part = out + ".part";
  {
    std::ofstream file(part);
    file << line << '\n';
    if (!file.flush()) { throw std::runtime_error("cannot write " + part); }
  }
  std::filesystem::rename(part, out);
  std::cout << out << ": a stack's step measured\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::optional<Options> options = options_of(argc, argv);
  if (!options) { return kWrongInput; }
  if (options->help) { std::cout << kHelp; }
  if (options->forms) { std::cout << work_forms(); }
  if (options->list) {
    for (const std::string& line : default_work(device_count())) { std::cout << line << '\n'; }
  }
  if (options->help || options->forms || options->list) { return 0; }
  if (options->out.empty()) {
    std::cerr << "tsim-measure: --out FILE is needed; --help lists what there is\n";
    return kWrongInput;
  }
  std::optional<std::vector<Work>> works;
  std::optional<StackShape> stack;
  if (options->stack.empty()) {
    works = work_of(*options);
  } else {
    stack = stack_of(options->stack);
  }
  if (!works && !stack) { return kWrongInput; }
  if (device_count() == 0) {
    std::cerr << "tsim-measure: no NVIDIA device was found\n";
    return kNoAnswer;
  }
  std::signal(SIGINT, [](int) { interrupted = 1; });
  std::signal(SIGTERM, [](int) { interrupted = 1; });
  try {
    return stack ? measure_stack(*stack, options->out) : measure_all(*works, *options);
  } catch (const std::exception& error) {
    std::cerr << "tsim-measure: " << error.what() << '\n';
    return kNoAnswer;
  }
}
