// Quantities as a reader wants them: three or four digits and a unit.
#pragma once

#include <string>

#include "models/units.hpp"

namespace tsim::cli {

/// "104.7 s", "18.35 ms", "2.10 us".
std::string format(Seconds t);
/// "45.56 GiB", "786.0 MiB", "12 B".
std::string format(Bytes b);
/// "36.0 %".
std::string percent(double share);
/// Digits after the point so that at least `digits` are significant: "19561", "149.8", "0.0123".
std::string significant(double value, int digits);

}  // namespace tsim::cli
