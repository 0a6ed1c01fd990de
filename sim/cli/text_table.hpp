// Tables of text: columns as wide as their widest cell.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace tsim::cli {

enum class Align : std::uint8_t { left, right };

struct Column {
  std::string title;
  Align align = Align::left;
};

/// Prints the titles, then the rows; two blanks between columns, none at the ends of lines.
/// Every row has one cell for each column. Widths count letters, not bytes (UTF-8).
void print_table(std::ostream& out, const std::vector<Column>& columns,
                 const std::vector<std::vector<std::string>>& rows);

/// "109,482,240".
std::string with_separators(std::int64_t number);

}  // namespace tsim::cli
