#include "sim/cli/text_table.hpp"

#include <algorithm>
#include <cassert>
#include <ostream>

namespace tsim::cli {
namespace {

std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;  // not a UTF-8 continuation
  }));
}

std::string padded(const std::string& text, std::size_t to, Align align) {
  const std::string blanks(to - width(text), ' ');
  return align == Align::left ? text + blanks : blanks + text;
}

void print_line(std::ostream& out, const std::vector<Column>& columns,
                const std::vector<std::size_t>& widths, const std::vector<std::string>& cells) {
  std::string line;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    line += (i == 0 ? "" : "  ") + padded(cells[i], widths[i], columns[i].align);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  out << line << '\n';
}

}  // namespace

void print_table(std::ostream& out, const std::vector<Column>& columns,
                 const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::string> titles;
  std::vector<std::size_t> widths;
  for (const Column& column : columns) {
    titles.push_back(column.title);
    widths.push_back(width(column.title));
  }
  for (const std::vector<std::string>& row : rows) {
    assert(row.size() == columns.size());
    for (std::size_t i = 0; i < row.size(); ++i) { widths[i] = std::max(widths[i], width(row[i])); }
  }
  print_line(out, columns, widths, titles);
  for (const std::vector<std::string>& row : rows) { print_line(out, columns, widths, row); }
}

std::string with_separators(std::int64_t number) {
  std::string digits = std::to_string(number);
  const std::ptrdiff_t first = number < 0 ? 1 : 0;
  for (std::ptrdiff_t at = std::ssize(digits) - 3; at > first; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), ",");
  }
  return digits;
}

}  // namespace tsim::cli
