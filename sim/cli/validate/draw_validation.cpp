// The plot of `validate`: predicted against measured steps, both axes logarithmic.
#include <algorithm>
#include <array>
#include <cmath>
#include <ostream>

#include "sim/cli/format.hpp"
#include "sim/cli/validate/print_validation.hpp"

namespace tsim::cli {
namespace {

using validate::RowResult;
using validate::SourceResult;

constexpr double kLeft = 70, kTop = 30, kSide = 560, kLegend = 24;
// Okabe and Ito's colours, which all readers can tell apart; with shapes they name many sources.
constexpr std::array<std::string_view, 7> kColours{"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                   "#e69f00", "#56b4e9", "#000000"};

bool is_drawn(const RowResult& row) { return row.ran && row.error && row.predicted > 0; }

/// Powers of ten around all steps.
struct Axis {
  double low = 0, high = 1;  // log10
  double at(double seconds) const { return kSide * (std::log10(seconds) - low) / (high - low); }
};

Axis axis_of(std::span<const SourceResult> results) {
  double low = 1e300, high = 0;
  for (const SourceResult& result : results) {
    for (const RowResult& row : result.rows) {
      if (!is_drawn(row)) { continue; }
      low = std::min({low, row.measured, row.predicted});
      high = std::max({high, row.measured, row.predicted});
    }
  }
  if (high == 0) { return {}; }
  const Axis axis{std::floor(std::log10(low)), std::ceil(std::log10(high))};
  return axis.low < axis.high ? axis : Axis{axis.low, axis.low + 1};
}

class Plot {
 public:
  Plot(const Axis& axis, std::ostream& out) : axis_(axis), out_(out) {}

  void grid() {
    for (double power = axis_.low; power <= axis_.high; ++power) {
      const double seconds = std::pow(10, power), at = axis_.at(seconds);
      line(kLeft + at, kTop, kLeft + at, kTop + kSide, "#ddd");
      line(kLeft, y(seconds), kLeft + kSide, y(seconds), "#ddd");
      text(kLeft + at, kTop + kSide + 18, format(Seconds{seconds}), "middle");
      text(kLeft - 6, y(seconds) + 4, format(Seconds{seconds}), "end");
    }
    // Equal, and ten per cent to either side.
    const double low = std::pow(10, axis_.low), high = std::pow(10, axis_.high);
    line(kLeft, y(low), kLeft + kSide, y(high), "#888");
    line(kLeft, y(low * 1.1), kLeft + axis_.at(high / 1.1), y(high), "#ccc");
    line(kLeft + axis_.at(low * 1.1), y(low), kLeft + kSide, y(high / 1.1), "#ccc");
    text(kLeft + kSide / 2, kTop + kSide + 38, "measured step", "middle");
    text(kLeft, kTop - 10, "predicted step; grey: equal, and 10 % to either side", "start");
  }

  void points(const SourceResult& result, std::size_t index) {
    for (const RowResult& row : result.rows) {
      if (!is_drawn(row)) { continue; }
      mark(kLeft + axis_.at(row.measured), y(row.predicted), index);
    }
    const double at = kTop + 10 + 18 * static_cast<double>(index);
    mark(kLeft + kSide + kLegend, at, index);
    text(kLeft + kSide + kLegend + 12, at + 4, result.source->name, "start");
  }

 private:
  double y(double seconds) const { return kTop + kSide - axis_.at(seconds); }

  void line(double x1, double y1, double x2, double y2, std::string_view colour) {
    out_ << "<line x1='" << x1 << "' y1='" << y1 << "' x2='" << x2 << "' y2='" << y2 << "' stroke='"
         << colour << "'/>\n";
  }

  /// A filled circle, then a ring, then a square for sources that share a colour.
  void mark(double x, double at, std::size_t index) {
    const std::string_view colour = kColours[index % kColours.size()];
    const std::size_t shape = index / kColours.size() % 3;
    if (shape == 2) {
      out_ << "<rect x='" << x - 3 << "' y='" << at - 3 << "' width='6' height='6' fill='" << colour
           << "'/>\n";
      return;
    }
    out_ << "<circle cx='" << x << "' cy='" << at << "' r='3' stroke='" << colour << "' fill='"
         << (shape == 1 ? "none" : colour) << "'/>\n";
  }

  void text(double x, double at, std::string_view words, std::string_view anchor) {
    out_ << "<text x='" << x << "' y='" << at << "' text-anchor='" << anchor << "'>" << words
         << "</text>\n";
  }

  Axis axis_;
  std::ostream& out_;
};

}  // namespace

void draw_validation(std::span<const SourceResult> results, std::ostream& out) {
  const double legend = 40 + 18 * static_cast<double>(results.size());
  out << "<svg xmlns='http://www.w3.org/2000/svg' width='" << kLeft + kSide + 220 << "' height='"
      << std::max(kTop + kSide + 50, legend)
      << "' font-family='sans-serif' font-size='12'>\n<rect width='100%' height='100%' "
         "fill='white'/>\n";
  Plot plot(axis_of(results), out);
  plot.grid();
  for (std::size_t i = 0; i < results.size(); ++i) { plot.points(results[i], i); }
  out << "</svg>\n";
}

}  // namespace tsim::cli
