// The plot of `net`: time and bus bandwidth against size, both axes logarithmic.
#include <algorithm>
#include <array>
#include <cmath>
#include <ostream>

#include "sim/cli/format.hpp"
#include "sim/cli/print_net.hpp"

namespace tsim::cli {
namespace {

constexpr double kLeft = 70, kTop = 40, kWidth = 380, kHeight = 300, kGap = 90;
// Okabe and Ito's colours, which all readers can tell apart.
constexpr std::array<std::string_view, 7> kColours{"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                   "#e69f00", "#56b4e9", "#000000"};

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '&': result += "&amp;"; break;
      case '"': result += "&quot;"; break;
      default: result += c;
    }
  }
  return result;
}

/// A logarithmic axis from `low` to `high`, drawn over `length` from `start` on.
struct Axis {
  double low = 1, high = 10, start = 0, length = 1;
  double at(double value) const {
    return start + length * std::log(value / low) / std::log(high / low);
  }
};

/// From a power of `base` to another one, around all values above 0.
Axis axis_for(const std::vector<double>& values, double base, double start, double length) {
  double low = 0, high = 0;
  for (const double v : values) {
    if (!(v > 0)) { continue; }
    low = low > 0 ? std::min(low, v) : v;
    high = std::max(high, v);
  }
  if (!(low > 0)) { low = high = 1; }
  const auto power = [base](double v, auto round) {
    return std::pow(base, round(std::log(v) / std::log(base)));
  };
  low = power(low * (1 + 1e-9), [](double v) { return std::floor(v); });
  high = power(high * (1 - 1e-9), [](double v) { return std::ceil(v); });
  if (high <= low) { high = low * base; }
  return {low, high, start, length};
}

struct Panel {
  std::string title;
  double left = 0;
  std::vector<std::vector<double>> values;  // by series and row
};

class Plot {
 public:
  Plot(const NetAnswer& answer, std::ostream& out) : a_(answer), out_(out) {}

  void draw(const Panel& panel) {
    std::vector<double> sizes, all;
    for (const sim::NetRow& row : a_.series[0].rows) { sizes.push_back(to_double(row.size)); }
    for (const auto& series : panel.values) { all.insert(all.end(), series.begin(), series.end()); }
    const Axis x = axis_for(sizes, 4, panel.left, kWidth);
    const Axis y = axis_for(all, 10, kTop + kHeight, -kHeight);
    text(panel.left + kWidth / 2, kTop - 12, panel.title, "middle");
    out_ << "<rect x=\"" << panel.left << "\" y=\"" << kTop << "\" width=\"" << kWidth
         << "\" height=\"" << kHeight << "\" fill=\"none\" stroke=\"#888\"/>\n";
    sizes_axis(x);
    values_axis(y, panel.left);
    for (std::size_t s = 0; s < panel.values.size(); ++s) {
      curve(sizes, panel.values[s], x, y, s);
    }
  }

  void legend() {
    for (std::size_t s = 0; s < a_.series.size(); ++s) {
      const double y = kTop + 16 + 16 * static_cast<double>(s);
      out_ << "<line x1=\"" << kLeft + 10 << "\" y1=\"" << y << "\" x2=\"" << kLeft + 34
           << "\" y2=\"" << y << "\" stroke=\"" << colour(s) << "\" stroke-width=\"2\"/>\n";
      text(kLeft + 40, y + 4, a_.series[s].algorithm, "start");
    }
  }

  void text(double x, double y, const std::string& words, std::string_view anchor) {
    out_ << "<text x=\"" << x << "\" y=\"" << y << "\" text-anchor=\"" << anchor << "\">"
         << escaped(words) << "</text>\n";
  }

 private:
  static std::string_view colour(std::size_t series) { return kColours[series % kColours.size()]; }

  void sizes_axis(const Axis& x) {
    const double ticks = std::log(x.high / x.low) / std::log(4.0);
    const double every = std::pow(4.0, std::max(1.0, std::ceil(ticks / 6)));
    for (double v = x.low; v <= x.high * (1 + 1e-9); v *= every) {
      out_ << "<line x1=\"" << x.at(v) << "\" y1=\"" << kTop << "\" x2=\"" << x.at(v) << "\" y2=\""
           << kTop + kHeight << "\" stroke=\"#ddd\"/>\n";
      text(x.at(v), kTop + kHeight + 18, format(Bytes{std::llround(v)}), "middle");
    }
  }

  void values_axis(const Axis& y, double left) {
    for (double v = y.low; v <= y.high * (1 + 1e-9); v *= 10) {
      out_ << "<line x1=\"" << left << "\" y1=\"" << y.at(v) << "\" x2=\"" << left + kWidth
           << "\" y2=\"" << y.at(v) << "\" stroke=\"#ddd\"/>\n";
      text(left - 6, y.at(v) + 4, significant(v, 1), "end");
    }
  }

  void curve(const std::vector<double>& sizes, const std::vector<double>& values, const Axis& x,
             const Axis& y, std::size_t series) {
    out_ << R"(<polyline fill="none" stroke=")" << colour(series)
         << R"(" stroke-width="2" points=")";
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] > 0 && sizes[i] > 0) {
        out_ << x.at(sizes[i]) << ',' << y.at(values[i]) << ' ';
      }
    }
    out_ << "\"/>\n";
  }

  const NetAnswer& a_;
  std::ostream& out_;
};

}  // namespace

void print_net_svg(const NetAnswer& a, std::ostream& out) {
  Panel times{"time (us)", kLeft, {}}, rates{"bus bandwidth (GB/s)", kLeft + kWidth + kGap, {}};
  for (const NetSeries& series : a.series) {
    times.values.emplace_back();
    rates.values.emplace_back();
    for (const sim::NetRow& row : series.rows) {
      times.values.back().push_back(row.time.value * 1e6);
      rates.values.back().push_back(bus_bandwidth(row, a.request->op) / 1e9);
    }
  }
  out << R"(<svg xmlns="http://www.w3.org/2000/svg" width=")" << kLeft + 2 * kWidth + kGap + 30
      << "\" height=\"" << kTop + kHeight + 50
      << "\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" "
         "fill=\"white\"/>\n";
  Plot plot(a, out);
  plot.text(kLeft, 16,
            a.op + " on " + std::to_string(a.request->op.devices.size()) + " devices of " +
                a.cluster->name,
            "start");
  plot.draw(times);
  plot.draw(rates);
  plot.legend();
  out << "</svg>\n";
}

}  // namespace tsim::cli
