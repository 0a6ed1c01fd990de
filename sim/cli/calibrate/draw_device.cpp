// The drawing of measured points against the surfaces fitted through them.
#include <algorithm>
#include <array>
#include <cmath>
#include <ostream>

#include "sim/cli/calibrate/print_device.hpp"
#include "sim/cli/format.hpp"

namespace tsim::cli {
namespace {

constexpr double kLeft = 70, kTop = 40, kSize = 460, kLegend = 200;
// Okabe and Ito's colours, which all readers can tell apart.
constexpr std::array<std::string_view, 7> kColours{"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                   "#e69f00", "#56b4e9", "#000000"};

struct Dot {
  double surface = 0, measured = 0;  // seconds
  std::size_t colour = 0;
};

struct Drawn {
  std::vector<Dot> dots;
  std::vector<std::string> kinds;  // by colour
};

/// Points of series that have a surface; series of one kind share a colour.
Drawn dots_of(const cost::Device& device) {
  Drawn drawn;
  for (const cost::Series& series : device.measured->series) {
    if (!series.surface) { continue; }
    const std::string name = cost::name_of(series.key);
    const std::string kind = name.substr(0, name.find(' '));
    const auto at = std::find(drawn.kinds.begin(), drawn.kinds.end(), kind);
    const auto colour = static_cast<std::size_t>(at - drawn.kinds.begin());
    if (at == drawn.kinds.end()) { drawn.kinds.push_back(kind); }
    for (const cost::MeasuredPoint& p : series.points) {
      const std::optional<Seconds> smooth = smooth_time({series.key, p.shape}, device);
      if (!smooth) { continue; }
      drawn.dots.push_back({cost::ratio_at(*series.surface, p.shape) * smooth->value,
                            cost::time_of(p).value, colour});
    }
  }
  return drawn;
}

/// Powers of ten around all times.
struct Scale {
  double low = -6, high = -5;  // log10 of seconds
  double at(double seconds) const { return kSize * (std::log10(seconds) - low) / (high - low); }
};

Scale scale_for(const std::vector<Dot>& dots) {
  Scale scale;
  if (dots.empty()) { return scale; }
  double least = dots.front().measured;
  double most = least;
  for (const Dot& dot : dots) {
    least = std::min({least, dot.surface, dot.measured});
    most = std::max({most, dot.surface, dot.measured});
  }
  scale.low = std::floor(std::log10(least));
  scale.high = std::max(scale.low + 1, std::ceil(std::log10(most)));
  return scale;
}

void text(double x, double y, const std::string& words, std::string_view more, std::ostream& out) {
  out << "<text x=\"" << x << "\" y=\"" << y << "\" " << more << ">" << words << "</text>\n";
}

void draw_axes(const Scale& scale, std::ostream& out) {
  const double bottom = kTop + kSize;
  for (double power = scale.low; power <= scale.high; ++power) {
    const double at = scale.at(std::pow(10.0, power));
    const std::string label = format(Seconds{std::pow(10.0, power)});
    out << "<path d=\"M" << kLeft + at << " " << kTop << "V" << bottom << "M" << kLeft << " "
        << bottom - at << "H" << kLeft + kSize << "\" stroke=\"#ddd\"/>\n";
    text(kLeft + at, bottom + 18, label, "text-anchor=\"middle\"", out);
    text(kLeft - 6, bottom - at + 4, label, "text-anchor=\"end\"", out);
  }
  out << "<path d=\"M" << kLeft << " " << bottom << "L" << kLeft + kSize << " " << kTop
      << "\" stroke=\"#888\"/>\n";
  text(kLeft + kSize / 2, bottom + 38, "time of the fitted surface", "text-anchor=\"middle\"", out);
  text(kLeft, kTop - 12, "measured time", "text-anchor=\"start\"", out);
}

}  // namespace

void draw_device(const cost::Device& device, std::ostream& out) {
  const Drawn drawn = dots_of(device);
  const Scale scale = scale_for(drawn.dots);
  out << R"(<svg xmlns="http://www.w3.org/2000/svg" width=")" << kLeft + kSize + kLegend
      << "\" height=\"" << kTop + kSize + 60
      << "\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" "
         "fill=\"white\"/>\n";
  draw_axes(scale, out);
  for (const Dot& dot : drawn.dots) {
    out << "<circle cx=\"" << kLeft + scale.at(dot.surface) << "\" cy=\""
        << kTop + kSize - scale.at(dot.measured) << R"(" r="2.5" fill-opacity="0.6" fill=")"
        << kColours[dot.colour % kColours.size()] << "\"/>\n";
  }
  for (std::size_t i = 0; i < drawn.kinds.size(); ++i) {
    const double y = kTop + 16 * static_cast<double>(i + 1);
    out << "<circle cx=\"" << kLeft + kSize + 24 << "\" cy=\"" << y - 4 << R"(" r="4" fill=")"
        << kColours[i % kColours.size()] << "\"/>\n";
    text(kLeft + kSize + 34, y, drawn.kinds[i], "text-anchor=\"start\"", out);
  }
  out << "</svg>\n";
}

}  // namespace tsim::cli
