#include "sim/input/import/text_lines.hpp"

#include <algorithm>

namespace tsim::sim {
namespace {

/// The end of the escape sequence that begins at `start`: ESC [ parameters letter, or two bytes.
std::size_t sequence_end(std::string_view text, std::size_t start) {
  std::size_t at = start + 1;
  if (at >= text.size() || text[at] != '[') { return std::min(text.size(), at + 1); }
  for (++at; at < text.size() && text[at] != '\n'; ++at) {
    if (text[at] >= '@' && text[at] <= '~') { return at + 1; }
  }
  return at;
}

std::string cleaned(std::string_view text) {
  constexpr char kEscape = '\x1b';
  std::string clean(text);
  for (std::size_t i = 0; i < clean.size(); ++i) {
    const auto byte = static_cast<unsigned char>(clean[i]);
    if (clean[i] == kEscape) {
      const std::size_t end = sequence_end(text, i);
      for (std::size_t k = i; k < end; ++k) {
        if (clean[k] != '\n') { clean[k] = ' '; }
      }
    } else if (clean[i] != '\n' && (byte < 0x20 || byte >= 0x7f || clean[i] == '|')) {
      clean[i] = ' ';
    }
  }
  return clean;
}

TextLine cut(std::string_view line, int number) {
  TextLine result{number, {}, 1};
  for (std::size_t i = line.find_first_not_of(' '); i < line.size();
       i = line.find_first_not_of(' ', i)) {
    const std::size_t end = std::min(line.find(' ', i), line.size());
    result.words.push_back({line.substr(i, end - i), static_cast<int>(i) + 1});
    result.end = static_cast<int>(end) + 1;
    i = end;
  }
  return result;
}

}  // namespace

TextLines::TextLines(std::string_view text) : clean_(cleaned(text)) {
  const std::string_view all = clean_;
  int number = 1;
  for (std::size_t start = 0; start <= all.size(); ++number) {
    const std::size_t end = std::min(all.find('\n', start), all.size());
    lines_.push_back(cut(all.substr(start, end - start), number));
    start = end + 1;
  }
}

}  // namespace tsim::sim
