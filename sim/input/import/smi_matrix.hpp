// The matrix that `nvidia-smi topo -m` prints, and those of other vendors that look like it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/input/input_error.hpp"

namespace tsim::sim {

/// How two cards reach each other over PCIe, the nearest first. `hidden`: the matrix shows another
/// link instead.
enum class Closeness : std::uint8_t { pix, pxb, phb, node, sys, hidden };
std::string_view name_of(Closeness closeness);

/// A cell: PCIe's class, or the number of bonded NVLinks (xGMI and HCCS count as one).
struct SmiLink {
  Closeness closeness = Closeness::hidden;
  int lanes = 0;
  bool operator==(const SmiLink&) const = default;
};

/// A row's card.
struct SmiCard {
  std::string name;  // "GPU0", "NIC1", "mlx5_0"
  bool nic = false;
  std::string alias;  // of a NIC: "mlx5_0", from the legend
  std::string cpus;   // "0-23,48-71"; empty: not stated
  std::string numa;   // "0"; empty: not stated
  int line = 0;       // of the row in the text
  bool operator==(const SmiCard&) const = default;
};

struct SmiMatrix {
  std::vector<SmiCard> cards;
  std::vector<SmiLink> links;  // row by row; [i, i] is not used
  std::vector<int> columns;    // by cell: where it stands in its line

  const SmiLink& link(std::size_t i, std::size_t j) const { return links[i * cards.size() + j]; }
  /// "line:column" of a cell.
  std::string place(std::size_t i, std::size_t j) const;
};

/// Whether the text has the head of such a matrix.
bool looks_like_smi_matrix(std::string_view text);

/// The matrix in a text, whatever stands around it: prompts, legends, escape sequences, other
/// tables. Nothing, and problems with line and column, when there is none or it cannot be read:
/// unknown words, short or missing rows, cells that contradict their mirror image.
std::optional<SmiMatrix> read_smi_matrix(std::string_view text, Problems& problems);

}  // namespace tsim::sim
