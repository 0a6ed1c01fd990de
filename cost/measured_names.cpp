// Work lines as text.
#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>

#include "cost/measured.hpp"

namespace tsim::cost {
namespace {

using Words = std::vector<std::string_view>;

/// The words of a kind of work line: name, format, one word of each list, counts.
struct KindRow {
  PointKind kind;
  std::string_view name;
  bool has_dtype;
  std::vector<Words> choices;
  std::size_t counts;
};

const std::vector<KindRow>& kinds() {
  static const Words ways{"fwd", "bwd"};
  static const std::vector<KindRow> rows{
      {PointKind::gemm, "gemm", true, {{"nt", "nn", "tn", "tn+"}}, 3},
      {PointKind::bmm, "bmm", true, {{"nt", "nn", "tn"}}, 4},
      {PointKind::attention, "attention", true, {ways, {"full", "causal"}}, 4},
      {PointKind::map,
       "map",
       true,
       {{"copy", "add", "gelu", "gelu_bwd", "dropout", "dropout_bwd", "bias_gelu", "join"}},
       1},
      {PointKind::layernorm, "layernorm", true, {ways}, 2},
      {PointKind::softmax, "softmax", true, {ways}, 2},
      {PointKind::cross_entropy, "cross_entropy", true, {ways}, 2},
      {PointKind::adam, "adam", false, {}, 1},
      {PointKind::memcpy, "memcpy", false, {{"h2d", "d2h", "d2d", "p2p", "p2p_both"}}, 1},
      {PointKind::launch, "launch", false, {{"device", "host", "graph"}}, 0},
      {PointKind::collective,
       "collective",
       false,
       {{"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "all_to_all",
         "send_recv", "send_recv_both"}},
       2},
      {PointKind::overlap, "overlap", false, {}, 5},
      {PointKind::pair, "pair", false, {}, 3},
      {PointKind::grouped, "grouped", true, {{"nt", "nn", "tn", "tn+"}}, 4}};
  return rows;
}

const KindRow& row_of(PointKind kind) { return kinds()[static_cast<std::size_t>(kind)]; }

Words words_of(std::string_view line) {
  Words words;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t begin = line.find_first_not_of(' ', at);
    if (begin == std::string_view::npos) { break; }
    at = std::min(line.find(' ', begin), line.size());
    words.push_back(line.substr(begin, at - begin));
  }
  return words;
}

/// A whole number above 0 with an optional binary suffix: "64", "2MiB".
std::optional<std::int64_t> count_of(std::string_view word) {
  constexpr std::array<std::string_view, 4> kSuffixes{"", "KiB", "MiB", "GiB"};
  constexpr std::int64_t kMost = std::int64_t{1} << 45;
  std::int64_t value = 0;
  const char* const end = word.data() + word.size();
  const auto [stop, failure] = std::from_chars(word.data(), end, value);
  if (failure != std::errc{} || value < 1 || value > kMost) { return std::nullopt; }
  const std::string_view suffix(stop, static_cast<std::size_t>(end - stop));
  const auto* const unit = std::find(kSuffixes.begin(), kSuffixes.end(), suffix);
  if (unit == kSuffixes.end()) { return std::nullopt; }
  const auto shift = 10 * (unit - kSuffixes.begin());
  return value <= kMost >> shift ? std::optional(value << shift) : std::nullopt;
}

/// Index of the chosen words in all combinations, the last list fastest.
std::optional<std::uint8_t> variant_of(const KindRow& row, std::span<const std::string_view> at) {
  std::size_t variant = 0;
  for (std::size_t i = 0; i < row.choices.size(); ++i) {
    const Words& names = row.choices[i];
    const auto found = std::find(names.begin(), names.end(), at[i]);
    if (found == names.end()) { return std::nullopt; }
    variant = variant * names.size() + static_cast<std::size_t>(found - names.begin());
  }
  return static_cast<std::uint8_t>(variant);
}

}  // namespace

std::size_t counts_of(PointKind kind) { return row_of(kind).counts; }

SeriesKey series_of(PointKind kind, models::DType dtype, std::span<const std::string_view> words) {
  const std::optional<std::uint8_t> variant = variant_of(row_of(kind), words);
  assert(variant);
  return {kind, row_of(kind).has_dtype ? dtype : models::DType::fp32, *variant};
}

std::optional<Subject> subject_of(std::string_view line) {
  const Words words = words_of(line);
  if (words.empty()) { return std::nullopt; }
  const auto row = std::find_if(kinds().begin(), kinds().end(),
                                [&](const KindRow& one) { return one.name == words.front(); });
  if (row == kinds().end()) { return std::nullopt; }
  const std::size_t choices_at = row->has_dtype ? 2 : 1;
  const std::size_t counts_at = choices_at + row->choices.size();
  if (words.size() != counts_at + row->counts) { return std::nullopt; }
  Subject subject{.series = {.kind = row->kind}};
  if (row->has_dtype) {
    const std::optional<models::DType> dtype = models::dtype_named(words[1]);
    if (!dtype) { return std::nullopt; }
    subject.series.dtype = *dtype;
  }
  const auto variant = variant_of(*row, std::span(words).subspan(choices_at));
  if (!variant) { return std::nullopt; }
  subject.series.variant = *variant;
  for (std::size_t i = 0; i < row->counts; ++i) {
    const std::optional<std::int64_t> count = count_of(words[counts_at + i]);
    if (!count) { return std::nullopt; }
    subject.shape[i] = *count;
  }
  return subject;
}

std::string name_of(const SeriesKey& key) {
  const KindRow& row = row_of(key.kind);
  std::string text(row.name);
  if (row.has_dtype) { text.append(" ").append(models::name_of(key.dtype)); }
  std::size_t combinations = 1;
  for (const Words& names : row.choices) { combinations *= names.size(); }
  std::size_t variant = key.variant;
  for (const Words& names : row.choices) {
    combinations /= names.size();
    text.append(" ").append(names[variant / combinations]);
    variant %= combinations;
  }
  return text;
}

std::string line_of(const Subject& subject) {
  std::string text = name_of(subject.series);
  for (std::size_t i = 0; i < counts_of(subject.series.kind); ++i) {
    text += " " + std::to_string(subject.shape[i]);
  }
  return text;
}

std::string_view name_of(Origin origin) {
  static constexpr std::array<std::string_view, kOrigins> kNames{"measured", "interpolated",
                                                                 "fitted", "roofline"};
  return kNames[static_cast<std::size_t>(origin)];
}

}  // namespace tsim::cost
