// A text cut in lines and words, with the places where they stand.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tsim::sim {

struct Word {
  std::string_view text;
  int column = 1;  // in the line as it was given
};

struct TextLine {
  int number = 1;
  std::vector<Word> words;
  int end = 1;  // the column behind the last word
};

/// Terminal escape sequences, carriage returns, other control characters and the bars of tables
/// count as blanks.
class TextLines {
 public:
  explicit TextLines(std::string_view text);
  TextLines(const TextLines&) = delete;  // words point into the text
  TextLines& operator=(const TextLines&) = delete;
  const std::vector<TextLine>& all() const { return lines_; }

 private:
  std::string clean_;  // the text with blanks for what does not count, byte for byte
  std::vector<TextLine> lines_;
};

}  // namespace tsim::sim
