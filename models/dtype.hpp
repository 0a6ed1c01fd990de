// Number formats, their sizes and names.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tsim::models {

/// tf32 is stored as fp32 and computed on the tensor cores. bool8 is a dropout mask.
enum class DType : std::uint8_t { fp32, tf32, fp16, bf16, fp8, int16, int8, bool8, int64 };

struct DTypeRow {
  DType dtype;
  std::string_view name;
  int bytes;
};

inline constexpr std::array kDTypes{
    DTypeRow{DType::fp32, "fp32", 4},  DTypeRow{DType::tf32, "tf32", 4},
    DTypeRow{DType::fp16, "fp16", 2},  DTypeRow{DType::bf16, "bf16", 2},
    DTypeRow{DType::fp8, "fp8", 1},    DTypeRow{DType::int16, "int16", 2},
    DTypeRow{DType::int8, "int8", 1},  DTypeRow{DType::bool8, "bool8", 1},
    DTypeRow{DType::int64, "int64", 8}};

/// Bytes that one stored element takes.
constexpr int size_of(DType d) { return kDTypes[static_cast<std::size_t>(d)].bytes; }
constexpr std::string_view name_of(DType d) { return kDTypes[static_cast<std::size_t>(d)].name; }
constexpr std::optional<DType> dtype_named(std::string_view name) {
  for (const DTypeRow& row : kDTypes) {
    if (row.name == name) { return row.dtype; }
  }
  return std::nullopt;
}

}  // namespace tsim::models
