#include "sim/sweep/tornado.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <stdexcept>

#include "sim/input/quantity.hpp"
#include "sim/input/read_scenario.hpp"
#include "sim/simulation.hpp"
#include "sim/sweep/workers.hpp"

namespace tsim::sim {
namespace {

/// A figure of the hardware, and how it is changed.
struct Figure {
  std::string name, value;
  std::function<void(cost::Cluster&, double)> scale;
};

std::string text_of(double value, Dimension dimension) { return quantity_text(value, dimension); }

void add_device_figures(const cost::Cluster& cluster, std::vector<Figure>& figures) {
  const cost::Device& d = cluster.devices.front();
  const auto each = [](auto change) {
    return [change](cost::Cluster& c, double factor) {
      for (cost::Device& device : c.devices) { change(device, factor); }
    };
  };
  if (!d.matrix_peaks.empty()) {
    figures.push_back({"peak of matrix units",
                       text_of(d.matrix_peaks.front().rate.value, Dimension::compute),
                       each([](cost::Device& device, double f) {
                         for (cost::PeakRate& p : device.matrix_peaks) { p.rate = f * p.rate; }
                       })});
  }
  figures.push_back(
      {"peak of vector units", text_of(d.vector_peak.value, Dimension::compute),
       each([](cost::Device& device, double f) { device.vector_peak = f * device.vector_peak; })});
  figures.push_back({"memory bandwidth", text_of(d.memory_bandwidth.value, Dimension::rate),
                     each([](cost::Device& device, double f) {
                       device.memory_bandwidth = f * device.memory_bandwidth;
                     })});
  if (d.launch.value > 0) {
    figures.push_back(
        {"kernel launch", text_of(d.launch.value, Dimension::time),
         each([](cost::Device& device, double f) { device.launch = f * device.launch; })});
  }
  if (d.host_launch.value > 0) {
    figures.push_back({"kernel launch on the host", text_of(d.host_launch.value, Dimension::time),
                       each([](cost::Device& device, double f) {
                         device.host_launch = f * device.host_launch;
                       })});
  }
}

void add_link_figures(const cost::Cluster& cluster, std::vector<Figure>& figures) {
  constexpr std::array kKinds{cost::LinkKind::nvlink, cost::LinkKind::pcie, cost::LinkKind::socket,
                              cost::LinkKind::memory, cost::LinkKind::nic,  cost::LinkKind::fabric,
                              cost::LinkKind::other};
  for (const cost::LinkKind kind : kKinds) {
    const auto& links = cluster.topology.links;
    const auto first = std::ranges::find_if(links, [kind](const cost::Link& l) {
      return l.kind == kind && std::isfinite(l.bandwidth.value);
    });
    if (first == links.end()) { continue; }
    const std::string of = " of " + std::string(name_of(kind)) + " links";
    const auto each = [kind](auto change) {
      return [kind, change](cost::Cluster& c, double factor) {
        for (cost::Link& link : c.topology.links) {
          if (link.kind == kind) { change(link, factor); }
        }
      };
    };
    figures.push_back({"bandwidth" + of, text_of(first->bandwidth.value, Dimension::rate),
                       each([](cost::Link& l, double f) { l.bandwidth = f * l.bandwidth; })});
    if (first->latency.value <= 0) { continue; }
    figures.push_back({"latency" + of, text_of(first->latency.value, Dimension::time),
                       each([](cost::Link& l, double f) { l.latency = f * l.latency; })});
  }
}

/// The same wiring with its channels' rates derived again.
void rewire(cost::Topology& topology) {
  for (std::size_t i = 0; i < topology.links.size(); ++i) {
    for (const cost::ChannelId channel :
         {topology.forward_channel[i], topology.backward_channel[i]}) {
      if (channel == cost::kNoChannel) { continue; }
      topology.channels[static_cast<std::size_t>(channel)].bandwidth = topology.links[i].bandwidth;
    }
  }
}

double step_of(Scenario scenario, const Figure* figure, double factor) {
  if (figure != nullptr) {
    figure->scale(scenario.cluster, factor);
    rewire(scenario.cluster.topology);
  }
  return run_scenario(scenario).timeline.makespan.value;
}

std::string bytes_of(double value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

double number_of(std::string_view bytes) {
  double value = 0;
  std::memcpy(&value, bytes.data(), std::min(sizeof value, bytes.size()));
  return value;
}

double swing(const TornadoRow& row) {
  double most = 0;
  double least = std::numeric_limits<double>::infinity();
  for (const double step : row.steps) {
    if (std::isnan(step)) { continue; }
    most = std::max(most, step);
    least = std::min(least, step);
  }
  return most - least;
}

}  // namespace

Tornado tornado_of(const Json& document, const std::filesystem::path& file, int jobs) {
  const Scenario scenario = read_scenario_text(document.dump(), file).base;
  std::vector<Figure> figures;
  add_device_figures(scenario.cluster, figures);
  add_link_figures(scenario.cluster, figures);
  Tornado tornado;
  tornado.step = step_of(scenario, nullptr, 1.0);
  for (const Figure& f : figures) { tornado.rows.push_back({f.name, f.value, {}}); }
  const std::size_t columns = kTornadoFactors.size();
  const std::size_t cells = figures.size() * columns;
  const Serve serve = [&](std::string_view request) {
    const auto cell = static_cast<std::size_t>(std::stoul(std::string(request)));
    try {
      return bytes_of(step_of(scenario, &figures[cell / columns], kTornadoFactors[cell % columns]));
    } catch (const std::exception&) { return bytes_of(std::numeric_limits<double>::quiet_NaN()); }
  };
  std::size_t next = 0;
  crew_of_processes(
      jobs, serve)({[&]() -> std::optional<std::string> {
                      return next < cells ? std::optional(std::to_string(next++)) : std::nullopt;
                    },
                    [&](std::string_view request, std::string_view reply) {
                      const auto cell = static_cast<std::size_t>(std::stoul(std::string(request)));
                      tornado.rows[cell / columns].steps[cell % columns] = number_of(reply);
                    }});
  std::ranges::stable_sort(tornado.rows, std::greater{}, swing);
  return tornado;
}

}  // namespace tsim::sim
