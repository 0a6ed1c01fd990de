#include "sim/calibrate/cpu/measure_cpu.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <fstream>
#include <thread>

#include "sim/calibrate/cpu/kernels.hpp"
#include "sim/calibrate/journal.hpp"
#include "sim/calibrate/statistics.hpp"

namespace tsim::calibrate {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::duration;

constexpr double kMostBytes = 2e9;      // of operands: calibration is no test of memory
constexpr double kNarrow = 0.01;        // half the median's interval
constexpr double kBatchSeconds = 2e-3;  // one timing lasts so long at least
constexpr double kMostSeconds = 0.4;    // for one line
constexpr std::size_t kLeastBatches = 7;

double seconds_of(const std::function<void()>& call, int calls) {
  const Clock::time_point start = Clock::now();
  for (int i = 0; i < calls; ++i) { call(); }
  return duration<double>(Clock::now() - start).count();
}

/// Microseconds of one call: batches of several calls where one is short.
Summary time_calls(const std::function<void()>& call) {
  seconds_of(call, 1);  // touches the operands' pages
  const double once = seconds_of(call, 1);
  const int calls = std::clamp(static_cast<int>(kBatchSeconds / std::max(once, 1e-9)), 1, 1000000);
  std::vector<double> times;
  Summary summary;
  const Clock::time_point start = Clock::now();
  while (true) {
    times.push_back(seconds_of(call, calls) / calls * 1e6);
    const bool late = duration<double>(Clock::now() - start).count() > kMostSeconds;
    if (times.size() < kLeastBatches && !late) { continue; }
    summary = summarise(times);
    if (late || uncertainty(summary) < kNarrow) { return summary; }
  }
}

std::string processor_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) {
      return line.substr(colon + 2);
    }
  }
  return "unknown";
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text.data(), size};
}

std::string header(const CpuRun& run, int threads) {
  Object object;
  return object.text("tsim", "measurements 1")
      .text("version", run.version)
      .text("date", utc_now())
      .text("device", "processor")
      .text("processor", processor_name())
      .number("threads", threads)
      .text("products", product_library() + ", rows of the result dealt to threads")
      .str();
}

/// The line of one work's measurement; `measured` tells whether there is a time.
std::string measure(const std::string& work, int threads, bool& measured) {
  Object object;
  object.text("work", work);
  measured = false;
  const std::optional<cost::Subject> subject = cost::subject_of(work);
  if (!subject || operand_bytes(*subject) > kMostBytes) {
    return object.text("skipped", subject ? "more memory than is taken" : "unknown work").str();
  }
  const auto call = cpu_kernel(*subject, threads);
  if (!call) { return object.text("skipped", "not timed on a processor").str(); }
  const Summary summary = time_calls(*call);
  measured = true;
  object.number("us", summary.median)
      .number("low", summary.low)
      .number("high", summary.high)
      .number("count", summary.count);
  if (!summary.outliers.empty()) { object.numbers("outliers", summary.outliers); }
  return object.str();
}

}  // namespace

CpuDone measure_cpu(const CpuRun& run) {
  const int threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  Journal journal(run.journal, header(run, threads));
  const Clock::time_point start = Clock::now();
  CpuDone done;
  for (const std::string& work : run.work) {
    if (journal.has(work)) {
      ++done.kept;
      continue;
    }
    done.late = Clock::now() - start > run.budget;
    if (done.late) { break; }
    bool measured = false;
    journal.add(work, measure(work, threads, measured));
    ++(measured ? done.measured : done.skipped);
  }
  journal.finish();
  return done;
}

std::vector<std::string> cpu_work() {
  const auto n = [](std::int64_t value) { return " " + std::to_string(value); };
  std::vector<std::string> lines;
  // The peaks that all else is scaled by come first.
  for (const std::int64_t size : {512, 1024}) {
    lines.push_back("gemm fp32 nt" + n(size) + n(size) + n(size));
  }
  for (const std::int64_t elements : {1 << 24, 1 << 12, 1 << 16, 1 << 20}) {
    for (const char* const op : {"copy", "add", "gelu"}) {
      lines.push_back("map fp32 " + std::string(op) + n(elements));
    }
    lines.push_back("adam" + n(elements));
    lines.push_back("memcpy d2d" + n(elements * 4));
  }
  for (const std::int64_t h : {128, 256, 512, 768, 1024}) {
    for (const std::int64_t rows : {128, 512, 2048}) {
      lines.push_back("layernorm fp32 fwd" + n(rows) + n(h));
      lines.push_back("softmax fp32 fwd" + n(rows) + n(h));
      for (const auto& [out, in] : {std::pair(3 * h, h), {h, h}, {4 * h, h}, {h, 4 * h}}) {
        lines.push_back("gemm fp32 nt" + n(rows) + n(out) + n(in));
        lines.push_back("gemm fp32 nn" + n(rows) + n(in) + n(out));
        lines.push_back("gemm fp32 tn" + n(out) + n(in) + n(rows));
      }
    }
  }
  return lines;
}

}  // namespace tsim::calibrate
