// Logs of nccl-tests: a table of sizes and times, out of place and in place.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <sstream>

#include "sim/calibrate/import/imported_points.hpp"

namespace tsim::calibrate {
namespace {

using Words = std::vector<std::string>;

Words words_of(const std::string& line) {
  std::istringstream in(line);
  Words words;
  for (std::string word; in >> word;) { words.push_back(word); }
  return words;
}

std::optional<double> number(const std::string& word) {
  double value = 0;
  const char* const end = word.data() + word.size();
  const auto [stop, failure] = std::from_chars(word.data(), end, value);
  return failure == std::errc{} && stop == end ? std::optional(value) : std::nullopt;
}

/// "all_reduce" of "AllReduce" or "./build/all_reduce_perf"; empty when the line names none.
std::string operation_in(const std::string& line) {
  struct Name {
    std::string_view written, name;
  };
  static constexpr std::array<Name, 14> kNames{{{"all_reduce_perf", "all_reduce"},
                                                {"all_gather_perf", "all_gather"},
                                                {"reduce_scatter_perf", "reduce_scatter"},
                                                {"alltoall_perf", "all_to_all"},
                                                {"broadcast_perf", "broadcast"},
                                                {"sendrecv_perf", "send_recv_both"},
                                                {"reduce_perf", "reduce"},
                                                {"AllReduce", "all_reduce"},
                                                {"AllGather", "all_gather"},
                                                {"ReduceScatter", "reduce_scatter"},
                                                {"AlltoAll", "all_to_all"},
                                                {"AllToAll", "all_to_all"},
                                                {"Broadcast", "broadcast"},
                                                {"SendRecv", "send_recv_both"}}};
  for (const Name& name : kNames) {
    if (line.find(name.written) != std::string::npos) { return std::string(name.name); }
  }
  return {};
}

/// The index of a rank in "#  Rank  3 Group ...", or -1.
int rank_in(const Words& words) {
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] != "Rank") { continue; }
    const std::optional<double> rank = number(words[i + 1]);
    if (rank) { return static_cast<int>(*rank); }
  }
  return -1;
}

/// Columns of a row of the table: size, count, type, operation, root, then time, algbw, busbw and
/// errors out of place and in place. What a scheduler writes before the row is skipped.
struct TableRow {
  double bytes = 0, us = 0;
};

std::optional<TableRow> table_row(const Words& all) {
  constexpr std::size_t kLeast = 12;
  std::size_t from = 0;
  while (from < all.size() && !number(all[from])) { ++from; }
  if (all.size() - from < kLeast) { return std::nullopt; }
  const std::optional<double> bytes = number(all[from]);
  const std::optional<double> count = number(all[from + 1]);
  // Older logs have no root: then the time stands one column earlier.
  const bool has_type = !number(all[from + 2]).has_value();
  if (!bytes || !count || !has_type || *bytes < 1) { return std::nullopt; }
  const std::size_t first = all.size() - 8;  // of the eight figures at the end
  const std::optional<double> us = number(all[first]);
  if (!us || *us <= 0) { return std::nullopt; }
  return TableRow{*bytes, *us};
}

}  // namespace

ImportedPoints import_nccl_log(std::string_view text, sim::Problems& problems) {
  ImportedPoints imported{.format = "a log of nccl-tests"};
  std::istringstream in{std::string(text)};
  std::string operation;
  std::vector<TableRow> rows;
  int ranks = 0;
  for (std::string line; std::getline(in, line);) {
    if (operation.empty()) { operation = operation_in(line); }
    const Words words = words_of(line);
    ranks = std::max(ranks, rank_in(words) + 1);
    const std::optional<TableRow> row = table_row(words);
    if (row) { rows.push_back(*row); }
  }
  if (operation.empty()) {
    problems.add({.found = "no name of a collective", .expected = "the command or its headline"});
  }
  if (ranks < 2) {
    problems.add({.found = "no list of ranks", .expected = "the lines \"#  Rank  0 ...\""});
  }
  if (rows.empty()) {
    problems.add({.found = "no rows", .expected = "sizes with times, as nccl-tests prints them"});
  }
  if (!problems.empty()) { return imported; }
  imported.source.facts.emplace_back("nccl_tests", operation + " of " + std::to_string(ranks));
  for (const TableRow& row : rows) {
    const auto subject =
        cost::subject_of("collective " + operation + " " + std::to_string(ranks) + " " +
                         std::to_string(static_cast<std::int64_t>(row.bytes)));
    if (!subject) { continue; }
    const Seconds time{row.us * 1e-6};
    imported.points.push_back(
        {*subject, {.shape = subject->shape, .median = time, .low = time, .high = time}});
  }
  return imported;
}

}  // namespace tsim::calibrate
