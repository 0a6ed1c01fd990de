#include "sim/input/suggest.hpp"

#include <algorithm>
#include <cctype>

namespace tsim::sim {
namespace {

constexpr std::size_t kLongestWord = 64;  // nothing sensible is longer; keeps the table small

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

}  // namespace

int edit_distance(std::string_view a, std::string_view b) {
  if (a.size() > kLongestWord || b.size() > kLongestWord) { return static_cast<int>(kLongestWord); }
  const std::size_t columns = b.size() + 1;
  std::vector<std::vector<int>> d(a.size() + 1, std::vector<int>(columns));
  for (std::size_t i = 0; i <= a.size(); ++i) { d[i][0] = static_cast<int>(i); }
  for (std::size_t j = 0; j < columns; ++j) { d[0][j] = static_cast<int>(j); }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j < columns; ++j) {
      const int change = a[i - 1] == b[j - 1] ? 0 : 1;
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) {
  if (word.empty()) { return {}; }
  const std::string wanted = lower(word);
  std::string_view by_edits;
  std::string_view by_prefix;
  int best = 3;  // edits; one beyond what counts as near
  for (const std::string_view candidate : candidates) {
    const std::string have = lower(candidate);
    const int edits = edit_distance(wanted, have);
    if (edits < best && 2 * static_cast<std::size_t>(edits) <= have.size()) {
      best = edits;
      by_edits = candidate;
    }
    const bool prefix = have.starts_with(wanted) || (have.size() > 1 && wanted.starts_with(have));
    if (prefix && (by_prefix.empty() || candidate.size() < by_prefix.size())) {
      by_prefix = candidate;
    }
  }
  return best <= 1 || by_prefix.empty() ? by_edits : by_prefix;
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates) {
  const std::string_view near = nearest(word, candidates);
  return near.empty() ? std::string() : "did you mean \"" + std::string(near) + "\"?";
}

std::string join(std::span<const std::string_view> words, std::size_t limit) {
  std::string text;
  for (std::size_t i = 0; i < std::min(limit, words.size()); ++i) {
    text += (i == 0 ? "" : ", ") + std::string(words[i]);
  }
  if (words.size() > limit) { text += " and " + std::to_string(words.size() - limit) + " more"; }
  return text;
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kShown = 60;
  std::string out = "\"";
  for (const char c : text.substr(0, kShown)) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte < 0x20 || byte == 0x7f ? '?' : c;
  }
  while (text.size() > kShown && (static_cast<unsigned char>(out.back()) & 0x80U) != 0) {
    out.pop_back();  // never half of a UTF-8 letter
  }
  return out + (text.size() > kShown ? "...\"" : "\"");
}

}  // namespace tsim::sim
