// The answers of `validate`.
#pragma once

#include <iosfwd>
#include <span>
#include <string>

#include "sim/validate/validation.hpp"

namespace tsim::cli {

/// Every row, the sources' figures of merit, what explains large errors, and broken promises.
void print_validation_text(std::span<const validate::SourceResult> results, std::ostream& out);
void print_validation_json(std::span<const validate::SourceResult> results, std::ostream& out);
/// The document docs/accuracy.md; `plot`: the drawing's file as it is linked there.
void print_validation_markdown(std::span<const validate::SourceResult> results,
                               const std::string& plot, std::ostream& out);
/// One page with the plot in it, that needs no other file.
void print_validation_html(std::span<const validate::SourceResult> results, std::ostream& out);

/// Predicted against measured step times, both axes logarithmic, one colour a source.
void draw_validation(std::span<const validate::SourceResult> results, std::ostream& out);

/// Broken promises of all sources, one line each with the source's name; empty: all are kept.
std::vector<std::string> broken_promises(std::span<const validate::SourceResult> results);

}  // namespace tsim::cli
