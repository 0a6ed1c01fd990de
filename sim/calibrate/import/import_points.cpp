#include <zlib.h>

#include "sim/calibrate/import/imported_points.hpp"
#include "sim/input/read_document.hpp"

namespace tsim::calibrate {
namespace {

constexpr std::string_view kGzipMark = "\x1f\x8b";
constexpr std::size_t kMostUnpacked = std::size_t{1} << 31;

/// The bytes of a gzip member; nothing when it is damaged or too large.
std::optional<std::string> unpacked(const std::string& packed) {
  z_stream stream{};
  constexpr int kGzip = 16;  // zlib's way to ask for gzip's header
  if (inflateInit2(&stream, kGzip + MAX_WBITS) != Z_OK) { return std::nullopt; }
  // zlib reads through a pointer to non-const, and does not write there.
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string text;
  std::string piece(std::size_t{1} << 16, '\0');
  int status = Z_OK;
  while (status == Z_OK && text.size() < kMostUnpacked) {
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    status = inflate(&stream, Z_NO_FLUSH);
    text.append(piece, 0, piece.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  return status == Z_STREAM_END ? std::optional(std::move(text)) : std::nullopt;
}

bool has(std::string_view text, std::string_view mark) {
  return text.find(mark) != std::string_view::npos;
}

}  // namespace

ImportedPoints import_points(const std::filesystem::path& file, sim::Problems& problems) {
  std::string why;
  std::optional<std::string> text = sim::file_text(file, why);
  if (text && text->starts_with(kGzipMark)) {
    text = unpacked(*text);
    why = "damaged gzip data";
  }
  if (!text) {
    problems.add({.found = why});
    return {};
  }
  if (text->starts_with(R"({"tsim":"measurements)")) { return import_journal(*text, problems); }
  if (has(*text, "busbw") && has(*text, "algbw")) { return import_nccl_log(*text, problems); }
  if (has(*text, "\"traceEvents\"")) { return import_torch_trace(*text, problems); }
  if (has(*text, "\"accelerator\"")) { return import_simumax(*text, problems); }
  if (has(*text, "\"gemm\"") && has(*text, "\"ops\"")) {
    return import_kernel_table(*text, problems);
  }
  problems.add({.found = "a file of an unknown kind",
                .expected =
                    "measurements of tsim-measure, kernel times of PyTorch, a log of "
                    "nccl-tests, a trace of the PyTorch profiler or a system file of SimuMax"});
  return {};
}

}  // namespace tsim::calibrate
