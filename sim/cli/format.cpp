#include "sim/cli/format.hpp"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>

namespace tsim::cli {
namespace {

std::string fixed(double value, int decimals) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(decimals) << value;
  return text.str();
}

}  // namespace

std::string significant(double value, int digits) {
  if (value == 0 || !std::isfinite(value)) { return fixed(value, 0); }
  const int before = static_cast<int>(std::floor(std::log10(std::abs(value)))) + 1;
  return fixed(value, std::max(0, digits - before));
}

std::string format(Seconds t) {
  const double s = std::abs(t.value);
  if (s == 0) { return "0 s"; }
  if (s >= 0.9995) { return significant(t.value, 4) + " s"; }
  if (s >= 0.9995e-3) { return significant(t.value * 1e3, 4) + " ms"; }
  return significant(t.value * 1e6, 4) + " us";
}

std::string format(Bytes b) {
  const double bytes = to_double(b);
  constexpr double kKiB = 1024;
  if (std::abs(bytes) >= kKiB * kKiB * kKiB) {
    return fixed(bytes / (kKiB * kKiB * kKiB), 2) + " GiB";
  }
  if (std::abs(bytes) >= kKiB * kKiB) { return fixed(bytes / (kKiB * kKiB), 1) + " MiB"; }
  if (std::abs(bytes) >= kKiB) { return fixed(bytes / kKiB, 1) + " KiB"; }
  return std::to_string(b.value) + " B";
}

std::string percent(double share) {
  const bool rounds_to_zero = std::abs(share) < 0.0005;  // no "-0.0 %"
  return fixed(rounds_to_zero ? 0.0 : share * 100, 1) + " %";
}

}  // namespace tsim::cli
