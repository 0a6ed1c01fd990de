#include "sim/input/import/smi_matrix.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "sim/input/import/text_lines.hpp"
#include "sim/input/suggest.hpp"

namespace tsim::sim {
namespace {

constexpr std::size_t kMostCards = 128;

struct NamedLink {
  std::string_view name;
  SmiLink link;
};

// SOC is SYS in drivers before 2017; XGMI and PCIE are rocm-smi's words, HCCS npu-smi's.
constexpr std::array kLinks{
    NamedLink{"PIX", {Closeness::pix, 0}},     NamedLink{"PXB", {Closeness::pxb, 0}},
    NamedLink{"PHB", {Closeness::phb, 0}},     NamedLink{"NODE", {Closeness::node, 0}},
    NamedLink{"SYS", {Closeness::sys, 0}},     NamedLink{"SOC", {Closeness::sys, 0}},
    NamedLink{"XGMI", {Closeness::hidden, 1}}, NamedLink{"HCCS", {Closeness::hidden, 1}},
    NamedLink{"PCIE", {Closeness::hidden, 0}}};

bool all_digits(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c); });
}

/// "GPU12": a prefix that stands for devices, and a number.
bool is_device_name(std::string_view word) {
  constexpr std::array<std::string_view, 5> kPrefixes{"GPU", "NPU", "DCU", "MLU", "XPU"};
  return std::ranges::any_of(kPrefixes, [&](std::string_view prefix) {
    return word.starts_with(prefix) && all_digits(word.substr(prefix.size()));
  });
}

bool is_self(std::string_view word) { return word == "X" || word == "x"; }

std::optional<SmiLink> link_named(std::string_view word) {
  for (const NamedLink& row : kLinks) {
    if (row.name == word) { return row.link; }
  }
  if (!word.starts_with("NV") || !all_digits(word.substr(2))) { return std::nullopt; }
  int lanes = 0;
  const auto [end, error] = std::from_chars(word.data() + 2, word.data() + word.size(), lanes);
  if (error != std::errc{} || lanes < 1 || lanes > 64) { return std::nullopt; }
  return SmiLink{Closeness::hidden, lanes};
}

/// A line that heads a matrix: names of cards first, one of a device among them, and no cells.
bool is_head(const TextLine& line) {
  const auto& words = line.words;
  if (words.empty() || link_named(words[0].text) || is_self(words[0].text)) { return false; }
  const bool row = words.size() > 1 && (is_self(words[1].text) || link_named(words[1].text) ||
                                        all_digits(words[1].text));
  return !row && std::ranges::any_of(words, [](const Word& w) { return is_device_name(w.text); }) &&
         is_device_name(words[0].text);
}

/// Reads one table below its head.
class Table {
 public:
  Table(std::span<const TextLine> lines, std::size_t head, Problems& problems)
      : lines_(lines), head_(head), problems_(problems) {}

  /// Whether the table holds figures (rocm-smi's weights and hops) and no words.
  bool of_figures() const {
    for (std::size_t i = head_ + 1; i < lines_.size() && i <= head_ + 2; ++i) {
      const auto& words = lines_[i].words;
      if (words.size() < 2 || !is_device_name(words[0].text)) { continue; }
      return std::ranges::all_of(words.begin() + 1, words.end(),
                                 [](const Word& w) { return all_digits(w.text); });
    }
    return false;
  }

  std::optional<SmiMatrix> read() {
    const std::size_t before = problems_.errors().size();
    read_head();
    const std::size_t n = matrix_.cards.size();
    matrix_.links.resize(n * n);
    matrix_.columns.resize(n * n);
    seen_.resize(n, false);
    std::size_t at = head_ + 1;
    for (; at < lines_.size() && !std::ranges::all_of(seen_, std::identity{}); ++at) {
      const TextLine& line = lines_[at];
      if (line.words.empty()) { continue; }
      if (!read_row(line)) { break; }
    }
    report_missing();
    read_legend(at);
    if (problems_.errors().size() == before) { check_symmetry(); }
    if (problems_.errors().size() != before) { return std::nullopt; }
    return std::move(matrix_);
  }

 private:
  void fail(int line, int column, std::string found, std::string expected, std::string hint = {}) {
    problems_.add({.path = std::to_string(line) + ":" + std::to_string(column),
                   .found = std::move(found),
                   .expected = std::move(expected),
                   .hint = std::move(hint)});
  }

  void read_head() {
    const TextLine& line = lines_[head_];
    std::set<std::string_view> names;
    for (std::size_t i = 0; i < line.words.size(); ++i) {
      const Word& word = line.words[i];
      const bool of_gpu = word.text == "GPU";  // "GPU NUMA ID"
      if (word.text == "CPU" || word.text == "NUMA" || of_gpu) {
        read_affinity_names(
            {line.words.begin() + static_cast<std::ptrdiff_t>(i), line.words.end()});
        return;
      }
      if (!names.insert(word.text).second || names.size() > kMostCards) {
        fail(line.number, word.column,
             in_quotes(word.text) + (names.size() > kMostCards ? "" : " twice"),
             "each card once, at most " + std::to_string(kMostCards));
        return;
      }
      SmiCard card;
      card.name = word.text;
      card.nic = !is_device_name(word.text);
      matrix_.cards.push_back(std::move(card));
    }
  }

  /// Which of "CPU Affinity", "NUMA Affinity", "GPU NUMA ID" follow, in their order.
  void read_affinity_names(std::span<const Word> words) {
    for (const Word& word : words) {
      if (word.text == "GPU") { return; }
      if (word.text == "CPU" || word.text == "NUMA") { affinities_.push_back(word.text); }
    }
  }

  /// False at the first line that is no row any more.
  bool read_row(const TextLine& line) {
    const Word& name = line.words[0];
    const auto card = std::ranges::find(matrix_.cards, name.text, &SmiCard::name);
    const bool cells = line.words.size() > 1 &&
                       (is_self(line.words[1].text) || link_named(line.words[1].text).has_value());
    if (card == matrix_.cards.end()) {
      if (!cells) { return false; }
      fail(line.number, name.column, in_quotes(name.text),
           "a card that the head of the matrix names");
      return true;
    }
    const auto i = static_cast<std::size_t>(card - matrix_.cards.begin());
    if (seen_[i]) {
      fail(line.number, name.column, "a second row of " + card->name, "one row each");
      return true;
    }
    seen_[i] = true;
    card->line = line.number;
    read_cells(line, i);
    return true;
  }

  void read_cells(const TextLine& line, std::size_t i) {
    const std::size_t n = matrix_.cards.size();
    for (std::size_t j = 0; j < n; ++j) {
      if (j + 1 >= line.words.size()) {
        fail(line.number, line.end,
             std::to_string(j) + " cells in the row of " + matrix_.cards[i].name,
             std::to_string(n) + ", one for each card of the head");
        return;
      }
      if (!read_cell(line, i, j)) { return; }
    }
    const std::span<const Word> rest{line.words.begin() + 1 + static_cast<std::ptrdiff_t>(n),
                                     line.words.end()};
    for (std::size_t k = 0; k < rest.size() && k < affinities_.size(); ++k) {
      if (rest[k].text == "N/A" || rest[k].text == "NA") { continue; }
      (affinities_[k] == "CPU" ? matrix_.cards[i].cpus : matrix_.cards[i].numa) = rest[k].text;
    }
  }

  /// False when the rest of the row is of no use.
  bool read_cell(const TextLine& line, std::size_t i, std::size_t j) {
    const Word& word = line.words[j + 1];
    const std::size_t cell = i * matrix_.cards.size() + j;
    matrix_.columns[cell] = word.column;
    const bool self = is_self(word.text) || (word.text == "0" && i == j);
    const std::optional<SmiLink> link = link_named(word.text);
    if (link && i != j) {
      matrix_.links[cell] = *link;
      return true;
    }
    if (self && i == j) { return true; }
    const std::string between =
        "between " + matrix_.cards[i].name + " and " + matrix_.cards[j].name;
    if (self || link) {
      fail(line.number, word.column, in_quotes(word.text) + " " + between,
           i == j ? "X" : "NV#, PIX, PXB, PHB, NODE or SYS", "the row may lack a cell");
      return false;
    }
    constexpr std::array<std::string_view, 6> kWords{"NV#", "PIX", "PXB", "PHB", "NODE", "SYS"};
    fail(line.number, word.column, in_quotes(word.text) + " " + between,
         "X, NV#, PIX, PXB, PHB, NODE or SYS", did_you_mean(word.text, kWords));
    return true;
  }

  void report_missing() {
    const TextLine& line = lines_[head_];
    for (std::size_t i = 0; i < seen_.size(); ++i) {
      if (seen_[i]) { continue; }
      const auto word = std::ranges::find(line.words, matrix_.cards[i].name, &Word::text);
      fail(line.number, word->column, "no row of " + matrix_.cards[i].name,
           "a row for each card of the head");
    }
  }

  /// "NIC0: mlx5_0", and rocm-smi's "GPU[0] : (Topology) Numa Node: 1".
  void read_legend(std::size_t from) {
    for (std::size_t at = from; at < lines_.size(); ++at) {
      const auto& words = lines_[at].words;
      if (words.size() == 2 && words[0].text.ends_with(':')) {
        const std::string_view name = words[0].text.substr(0, words[0].text.size() - 1);
        const auto card = std::ranges::find(matrix_.cards, name, &SmiCard::name);
        if (card != matrix_.cards.end() && card->nic) { card->alias = words[1].text; }
      }
      read_numa_line(words);
    }
  }

  void read_numa_line(std::span<const Word> words) {
    const bool numa = words.size() == 6 && words[0].text.starts_with("GPU[") &&
                      words[3].text == "Numa" && words[4].text == "Node:";
    if (!numa) { return; }
    std::string name = "GPU" + std::string(words[0].text.substr(4));
    name.pop_back();
    const auto card = std::ranges::find(matrix_.cards, name, &SmiCard::name);
    if (card != matrix_.cards.end()) { card->numa = words[5].text; }
  }

  void check_symmetry() {
    const std::size_t n = matrix_.cards.size();
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (matrix_.link(i, j) == matrix_.link(j, i)) { continue; }
        fail(matrix_.cards[i].line, matrix_.columns[i * n + j],
             matrix_.cards[i].name + " to " + matrix_.cards[j].name + " unlike the way back at " +
                 matrix_.place(j, i),
             "the same link both ways");
      }
    }
  }

  std::span<const TextLine> lines_;
  std::size_t head_;
  Problems& problems_;
  SmiMatrix matrix_;
  std::vector<std::string_view> affinities_;  // columns behind the cells
  std::vector<bool> seen_;                    // by card: its row
};

}  // namespace

std::string_view name_of(Closeness closeness) {
  constexpr std::array<std::string_view, 6> kNames{"PIX", "PXB", "PHB", "NODE", "SYS", "hidden"};
  return kNames[static_cast<std::size_t>(closeness)];
}

std::string SmiMatrix::place(std::size_t i, std::size_t j) const {
  return std::to_string(cards[i].line) + ":" + std::to_string(columns[i * cards.size() + j]);
}

bool looks_like_smi_matrix(std::string_view text) {
  const TextLines lines(text);
  return std::ranges::any_of(lines.all(), is_head);
}

std::optional<SmiMatrix> read_smi_matrix(std::string_view text, Problems& problems) {
  const TextLines lines(text);
  for (std::size_t i = 0; i < lines.all().size(); ++i) {
    if (!is_head(lines.all()[i])) { continue; }
    Table table(lines.all(), i, problems);
    if (!table.of_figures()) { return table.read(); }
  }
  problems.add({.found = "no matrix",
                .expected =
                    "the output of nvidia-smi topo -m: a line of names (GPU0 GPU1 ...) and a "
                    "row for each"});
  return std::nullopt;
}

}  // namespace tsim::sim
