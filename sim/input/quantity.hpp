// Quantities as people write them: a number and its unit ("80 GiB", "200 Gb/s", "1.2 us").
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tsim::sim {

/// What a quantity measures; the value is in bytes, bytes/s, seconds or FLOP/s.
enum class Dimension : std::uint8_t { size, rate, time, compute };

/// A quantity that was read, or what is wrong with it.
struct ParsedQuantity {
  std::optional<double> value;
  std::string hint;  // when there is no value: a remedy, may be empty
};

/// "a rate with its unit, such as "25 GB/s" or "200 Gb/s"".
std::string expected_quantity(Dimension dimension);

/// Reads `text` as a quantity of `dimension`: a decimal number, optional blanks, a unit in its
/// exact spelling. k, M, G, T, P are powers of 1000, Ki, Mi, Gi, Ti of 1024; B is a byte, b a bit.
ParsedQuantity parse_quantity(std::string_view text, Dimension dimension);

/// Largest value that is accepted: 1 EB, 1 EB/s, 1e9 s, 1e21 FLOP/s. More is a slip of the unit.
double largest(Dimension dimension);

/// `value` as parse_quantity reads it back exactly, in the unit that makes the shortest text:
/// "25 GB/s", "1.2 us".
std::string quantity_text(double value, Dimension dimension);

/// The value in a unit that suits its size: "400 GB/s".
std::string rate_text(double bytes_per_second);

}  // namespace tsim::sim
