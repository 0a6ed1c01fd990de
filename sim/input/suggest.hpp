// "Did you mean ...?"
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tsim::sim {

/// Single-letter insertions, removals, changes and swaps of neighbours that turn `a` into `b`.
int edit_distance(std::string_view a, std::string_view b);

/// The candidate nearest to `word`, ignoring case: one that is an edit away, else the shortest that
/// begins with `word` or that `word` begins with, else one two edits away. Edits may touch half of
/// a candidate's letters at most. Empty when there is none.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

/// `did you mean "x"?`, or nothing.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates);

/// "a, b, c"; at most `limit` of them, and then how many more.
std::string join(std::span<const std::string_view> words, std::size_t limit = 40);

/// `text` in quotes, control characters replaced and cut to a length that fits a line.
std::string in_quotes(std::string_view text);

}  // namespace tsim::sim
