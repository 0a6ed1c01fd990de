#include "sim/cli/calibrate/print_device.hpp"

#include <array>
#include <ostream>

#include <nlohmann/json.hpp>

#include "sim/cli/calibrate/print_calibration.hpp"
#include "sim/cli/print_devices.hpp"

namespace tsim::cli {
namespace {

using Json = nlohmann::ordered_json;

void print_sources(const cost::Measured& measured, std::ostream& out) {
  for (std::size_t i = 0; i < measured.sources.size(); ++i) {
    std::size_t points = 0;
    for (const cost::Series& series : measured.series) {
      for (const cost::MeasuredPoint& p : series.points) {
        points += p.source == static_cast<int>(i) ? 1 : 0;
      }
    }
    out << "\nMeasured (" << points << " points)\n";
    for (const auto& [key, value] : measured.sources[i].facts) {
      out << "  " << key << std::string(key.size() < 14 ? 14 - key.size() : 1, ' ') << value
          << "\n";
    }
  }
}

}  // namespace

void print_device(const cost::Device& device, std::ostream& out) {
  print_devices_text(std::array{device}, out);
  if (!device.measured) {
    out << "\nNothing was measured on it: all times are the roofline's (tsim calibrate --help)\n";
    return;
  }
  print_sources(*device.measured, out);
  print_series(*device.measured, out);
  print_links(*device.measured, out);
  print_pairs(*device.measured, out);
}

void print_device_json(const cost::Device& device, std::ostream& out) {
  Json json{{"version", 1}, {"name", device.name}, {"description", device.description}};
  json["sources"] = Json::array();
  json["series"] = Json::array();
  json["links"] = Json::array();
  if (device.measured) {
    for (const cost::Provenance& source : device.measured->sources) {
      Json facts = Json::object();
      for (const auto& [key, value] : source.facts) { facts[key] = value; }
      json["sources"].push_back(std::move(facts));
    }
    for (const cost::Series& series : device.measured->series) {
      Json row{{"series", cost::name_of(series.key)}, {"points", series.points.size()}};
      row["surface_rms"] = series.surface ? Json(series.surface->residual) : Json(nullptr);
      json["series"].push_back(std::move(row));
    }
    for (const cost::AlphaBeta& l : device.measured->links) {
      json["links"].push_back({{"operation", l.operation},
                               {"ranks", l.ranks},
                               {"alpha_s", l.alpha.value},
                               {"bytes_per_s", l.rate.value},
                               {"least_bytes", l.least.value},
                               {"most_bytes", l.most.value}});
    }
  }
  out << json.dump(2) << '\n';
}

}  // namespace tsim::cli
