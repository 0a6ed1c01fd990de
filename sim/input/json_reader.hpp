// Reads typed values out of a JSON document and gathers everything that is wrong with them.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/input/input_error.hpp"
#include "sim/input/quantity.hpp"
#include "sim/input/read_document.hpp"

namespace tsim::sim {

/// More of anything that is counted is a slip, and products of a few counts must fit 64 bits.
inline constexpr std::int64_t kMostCounted = 1'000'000'000;

/// Bounds of a count, both included.
struct Range {
  std::int64_t least = 1;
  std::int64_t most = kMostCounted;
};

/// Which document a place is in, and where its problems go.
struct Source {
  Problems* problems = nullptr;
  std::string file = {};        // empty: the file that was asked for
  bool null_is_absent = false;  // files of other programs write null for "the default"
};

/// One place of a document: a value, or the lack of one.
struct Place {
  const Json* value = nullptr;  // nullptr when absent
  std::string path;             // JSON Pointer
  const Source* source = nullptr;
  bool muted = false;  // below something that was a problem already: says nothing

  bool present() const { return value != nullptr; }
  void fail(std::string found, std::string expected, std::string hint = {}) const;
  /// What is at the place, as messages name it: `400`, `"8" (text)`, `a list`, `nothing`.
  std::string found() const;
};

// Each of these gives the value at `place`; `fallback` when nothing is there. Without a fallback
// that is a problem; so is a value that does not fit, and then the result is the fallback or
// something harmless.
std::int64_t read_count(const Place& place, Range range, std::optional<std::int64_t> fallback = {});
bool read_flag(const Place& place, std::optional<bool> fallback = {});
std::string read_text(const Place& place, const std::optional<std::string>& fallback = {});
/// A number from `least` to `most`; with `above` set, `least` itself is not allowed.
struct RealRange {
  double least = 0.0, most = 1.0;
  bool above = false;
};
double read_real(const Place& place, RealRange range, std::optional<double> fallback = {});
/// A quantity above zero, or from zero when `zero` is set.
double read_quantity(const Place& place, Dimension dimension, std::optional<double> fallback = {},
                     bool zero = false);
/// The index in `names` of the text at `place`.
std::size_t read_choice(const Place& place, std::span<const std::string_view> names,
                        std::optional<std::size_t> fallback = {});
/// Places of a list's entries; a problem when it is no list.
std::vector<Place> read_entries(const Place& place);

/// An object: keys are taken one by one; those left over are unknown.
class Reader {
 public:
  /// Anything but an object is a problem, and then every key is absent.
  explicit Reader(const Place& place);
  /// The value of `key`, known from now on.
  Place take(std::string_view key);
  /// Unknown keys are problems. Call it when all keys have been taken.
  void finish() const;
  const std::string& path() const { return place_.path; }
  const Source& source() const { return *place_.source; }
  bool readable() const { return object_ != nullptr; }

 private:
  Place place_;
  const Json* object_ = nullptr;
  std::vector<std::string> known_;
};

/// One of the values that `name_of` names.
template <class T>
T read_choice(const Place& place, std::span<const T> values, std::optional<T> fallback = {}) {
  std::vector<std::string_view> names;
  std::optional<std::size_t> index;
  for (const T value : values) {
    if (fallback == value) { index = names.size(); }
    names.push_back(name_of(value));
  }
  return values[read_choice(place, std::span<const std::string_view>(names), index)];
}

}  // namespace tsim::sim
