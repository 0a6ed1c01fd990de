#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <optional>
#include <ostream>
#include <utility>

#include "sim/cli/commands.hpp"
#include "sim/cli/print_synthesis.hpp"
#include "sim/cli/setting_texts.hpp"
#include "sim/cli/write_file.hpp"
#include "sim/input/import/msccl_xml.hpp"
#include "sim/input/import/program_json.hpp"
#include "sim/input/input_error.hpp"
#include "sim/input/read_cluster.hpp"
#include "sim/input/suggest.hpp"
#include "sim/net/net_lists.hpp"

namespace tsim::cli {
namespace {

using cost::CollectiveOp;
using sim::Problems;

constexpr int kMostRanks = 64;

CollectiveOp op_named(std::string_view name) {
  int op = 0;
  while (name_of(static_cast<CollectiveOp>(op)) != name) { ++op; }
  return static_cast<CollectiveOp>(op);
}

std::optional<int> whole(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) { return std::nullopt; }
  return value;
}

/// "3:4".
std::optional<std::pair<int, int>> pair_in(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) { return std::nullopt; }
  const auto first = whole(std::string_view(text).substr(0, colon));
  const auto second = whole(std::string_view(text).substr(colon + 1));
  if (!first || !second) { return std::nullopt; }
  return std::pair{*first, *second};
}

void read_links(const SynthesiseOptions& options, cost::SynthesisRequest& request,
                Problems& problems) {
  const int n = static_cast<int>(request.devices.size());
  for (const std::string& text : options.allow) {
    const auto pair = pair_in(text);
    const auto is_rank = [n](int r) { return r >= 0 && r < n; };
    if (pair && is_rank(pair->first) && is_rank(pair->second) && pair->first != pair->second) {
      request.links.push_back(*pair);
    } else {
      problems.add({"--allow", sim::in_quotes(text),
                    "two ranks from 0 to " + std::to_string(n - 1) + ", such as 0:1"});
    }
  }
}

void read_rotations(const SynthesiseOptions& options, cost::SynthesisRequest& request,
                    Problems& problems) {
  const int n = static_cast<int>(request.devices.size());
  for (const std::string& text : options.rotate) {
    const auto pair = pair_in(text);
    if (pair && pair->first >= 1 && pair->second > pair->first && n % pair->second == 0) {
      request.rotations.push_back({pair->first, pair->second});
    } else {
      problems.add({"--rotate", sim::in_quotes(text),
                    "OFFSET:SIZE with 1 <= OFFSET < SIZE, SIZE a divisor of " + std::to_string(n) +
                        " ranks"});
    }
  }
}

cost::SynthesisRequest read_request(const SynthesiseOptions& options,
                                    const cost::Cluster& cluster) {
  Problems problems;
  cost::SynthesisRequest request;
  request.op = op_named(options.op);
  request.pieces = static_cast<int>(std::min<std::int64_t>(options.pieces, 1'000'000));
  const int devices = device_count(cluster);
  if (options.ranks.empty()) {
    request.devices.resize(static_cast<std::size_t>(devices));
    std::iota(request.devices.begin(), request.devices.end(), 0);
  } else {
    request.devices = sim::read_ranks(options.ranks, devices, "--ranks", problems);
  }
  const auto n = static_cast<std::int64_t>(request.devices.size());
  if (problems.empty() && (n < 2 || n > kMostRanks)) {
    problems.add({"--ranks", std::to_string(n) + " ranks", "2 to " + std::to_string(kMostRanks),
                  n > kMostRanks ? "--ranks 0-31 takes the first 32" : ""});
  }
  constexpr std::int64_t kMostPieces = 1024;
  if (problems.empty() && request.pieces * n > kMostPieces) {
    problems.add(
        {"--pieces", std::to_string(request.pieces),
         "at most " + std::to_string(kMostPieces / n) + " for " + std::to_string(n) + " ranks"});
  }
  const std::vector<Bytes> sizes = sim::read_sizes(options.size, "--size", problems);
  if (sizes.size() == 1) { request.payload = sizes[0]; }
  if (sizes.size() > 1) { problems.add({"--size", sim::in_quotes(options.size), "one size"}); }
  read_links(options, request, problems);
  read_rotations(options, request, problems);
  if (!problems.empty()) { throw sim::InputErrors(options.cluster, problems.errors()); }
  return request;
}

/// A line on a terminal that says how far it is.
cost::Progress progress_on(std::ostream& err) {
  if (isatty(STDERR_FILENO) == 0) { return {}; }
  return [&err](int done, int all) {
    err << "\r" << done << " of " << all << " programs judged" << (done == all ? "\r\x1b[K" : "")
        << std::flush;
  };
}

sim::SynthesisRun run(const cost::SynthesisRequest& request, cost::Router& router,
                      const SynthesiseOptions& options, std::ostream& err) {
  try {
    return sim::run_synthesis(request, router, progress_on(err));
  } catch (const cost::Unreachable& pair) {
    throw sim::InputErrors(
        options.cluster,
        {{options.allow.empty() ? "" : "--allow", "no way from " + pair.from + " to " + pair.to,
          "links that lead from every rank to every other one"}});
  }
}

}  // namespace

int synthesise_command(const SynthesiseOptions& options, std::ostream& out, std::ostream& err) {
  const cost::Cluster cluster = sim::read_cluster(options.cluster, setting_texts(options.settings));
  const cost::SynthesisRequest request = read_request(options, cluster);
  cost::Router router(cluster.topology);
  const sim::SynthesisRun found = run(request, router, options, err);
  const cost::CollectivePlan plan =
      plan_collective(request.op, "auto", request.devices, request.payload, router);
  const SynthesisAnswer answer{
      &cluster,     &request, &found, plan.algorithm, time_alone(plan, cluster.topology, router),
      options.steps};
  if (!options.out.empty()) {
    const bool xml = options.out.extension() == ".xml";
    write_file(options.out, [&](std::ostream& file) {
      file << (xml ? sim::to_msccl(found.synthesis.program)
                   : sim::to_json_text(found.synthesis.program));
    });
  }
  (options.json ? print_synthesis_json : print_synthesis_text)(answer, out);
  return 0;
}

}  // namespace tsim::cli
