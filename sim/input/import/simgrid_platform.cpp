#include "sim/input/import/simgrid_platform.hpp"

#include <algorithm>
#include <map>
#include <sstream>
#include <stdexcept>

#include <simgrid/kernel/routing/StarZone.hpp>
#include <simgrid/s4u.hpp>

#include "sim/input/import/route_factors.hpp"
#include "sim/input/import/run_apart.hpp"
#include "sim/input/suggest.hpp"

namespace tsim::sim {
namespace {

constexpr std::size_t kMostHosts = 100'000;  // as clusters have devices
constexpr unsigned kSeconds = 120;

/// Numbers in names count as numbers.
bool comes_before(const std::string& a, const std::string& b) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (!digit(a[i]) || !digit(b[j])) {
      if (a[i] != b[j]) { return a[i] < b[j]; }
      ++i;
      ++j;
      continue;
    }
    const std::size_t i_end = std::min(a.find_first_not_of("0123456789", i), a.size());
    const std::size_t j_end = std::min(b.find_first_not_of("0123456789", j), b.size());
    if (i_end - i != j_end - j) { return i_end - i < j_end - j; }
    const int order = a.compare(i, i_end - i, b, j, j_end - j);
    if (order != 0) { return order < 0; }
    i = i_end;
    j = j_end;
  }
  return a.size() - i < b.size() - j;
}

/// What the child finds, as words in lines.
class Loader {
 public:
  explicit Loader(const std::string& file) : engine_("tsim") {
    engine_.load_platform(file);
    hosts_ = engine_.get_all_hosts();
    std::ranges::sort(hosts_, [](const auto* a, const auto* b) {
      return comes_before(a->get_name(), b->get_name());
    });
    if (hosts_.empty() || hosts_.size() > kMostHosts) {
      throw std::runtime_error(std::to_string(hosts_.size()) + " hosts, expected 1 to " +
                               std::to_string(kMostHosts));
    }
  }

  std::string text() {
    const auto routes = factored(zones(), [this](int from, int to) { return route(from, to); });
    if (!routes) {
      throw std::runtime_error(
          "routes between " + std::to_string(hosts_.size()) +
          " hosts that follow no simple rule (clusters with links to a common router or backbone); "
          "expected that, or at most 512 hosts");
    }
    out_.precision(17);
    out_ << hosts_.size() << ' ' << links_.size() << ' ' << routes->between.size() << '\n';
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      out_ << hosts_[i]->get_name() << '\n'
           << hosts_[i]->get_speed() * hosts_[i]->get_core_count() << ' ' << routes->place[i];
      put(routes->up[i]);
      put(routes->down[i]);
      out_ << '\n';
    }
    for (const auto* link : links_) { put(*link); }
    for (const auto& [places, way] : routes->between) {
      out_ << places.first << ' ' << places.second << ' ' << way.latency.value;
      put(way.links);
      out_ << '\n';
    }
    return out_.str();
  }

 private:
  using Link = simgrid::s4u::Link;

  HostZones zones() const {
    HostZones result{{}, true};
    std::map<const simgrid::s4u::NetZone*, int> numbers;
    for (const auto* host : hosts_) {
      const auto* zone = host->get_englobing_zone();
      const auto* impl = zone->get_impl();
      result.star =
          result.star && dynamic_cast<const simgrid::kernel::routing::StarZone*>(impl) != nullptr;
      result.zone.push_back(
          numbers.try_emplace(zone, static_cast<int>(numbers.size())).first->second);
    }
    return result;
  }

  ListedRoute route(int from, int to) {
    std::vector<Link*> links;
    double latency = 0;
    const auto* sender = hosts_[static_cast<std::size_t>(from)];
    const auto* receiver = hosts_[static_cast<std::size_t>(to)];
    sender->route_to(receiver, links, &latency);
    if (links.empty()) {
      throw std::runtime_error("no route from " + sender->get_name() + " to " +
                               receiver->get_name());
    }
    ListedRoute result;
    double own = 0;
    for (const Link* link : links) {
      const auto [entry, is_new] = numbers_.try_emplace(link, static_cast<int>(links_.size()));
      if (is_new) { links_.push_back(link); }
      result.links.push_back(entry->second);
      own += link->get_latency();
    }
    const bool more = latency - own > 1e-9 * latency;  // of Vivaldi's coordinates
    result.latency = more ? latency - own : 0;
    return result;
  }

  void put(const std::vector<std::int32_t>& numbers) {
    out_ << ' ' << numbers.size();
    for (const std::int32_t n : numbers) { out_ << ' ' << n; }
  }

  void put(const Link& link) {
    using Policy = Link::SharingPolicy;
    const Policy policy = link.get_sharing_policy();
    if (policy == Policy::WIFI || policy == Policy::NONLINEAR) {
      throw std::runtime_error("link " + link.get_name() +
                               ": a Wi-Fi or non-linear link, whose rate depends on its users");
    }
    out_ << link.get_name() << '\n'
         << link.get_bandwidth() << ' ' << link.get_latency() << ' '
         << (policy == Policy::FATPIPE ? 0 : 1) << '\n';
  }

  simgrid::s4u::Engine engine_;
  std::vector<simgrid::s4u::Host*> hosts_;
  std::vector<const Link*> links_;
  std::map<const Link*, int> numbers_;
  std::ostringstream out_;
};

std::vector<std::int32_t> numbers_in(std::istream& in) {
  std::size_t count = 0;
  in >> count;
  std::vector<std::int32_t> numbers(in ? count : 0);
  for (std::int32_t& n : numbers) { in >> n; }
  return numbers;
}

std::string line_in(std::istream& in) {
  std::string line;
  std::getline(in >> std::ws, line);
  return line;
}

Platform parsed(const std::string& text) {
  std::istringstream in(text);
  std::size_t hosts = 0, links = 0, ways = 0;
  in >> hosts >> links >> ways;
  Platform platform;
  for (std::size_t i = 0; i < hosts; ++i) {
    PlatformHost host{line_in(in), 0};
    std::int32_t place = 0;
    in >> host.speed >> place;
    platform.hosts.push_back(std::move(host));
    platform.routes.place.push_back(place);
    platform.routes.up.push_back(numbers_in(in));
    platform.routes.down.push_back(numbers_in(in));
  }
  for (std::size_t i = 0; i < links; ++i) {
    PlatformLink link{line_in(in)};
    int shared = 1;
    in >> link.bandwidth >> link.latency >> shared;
    link.shared = shared != 0;
    platform.links.push_back(std::move(link));
  }
  for (std::size_t i = 0; i < ways; ++i) {
    std::pair<std::int32_t, std::int32_t> places;
    cost::FixedRoutes::Way way;
    in >> places.first >> places.second >> way.latency.value;
    way.links = numbers_in(in);
    platform.routes.between.emplace(places, std::move(way));
  }
  if (!in) { throw std::runtime_error("the platform did not come back whole"); }
  return platform;
}

/// SimGrid's message without what it says of itself: the last line that is one.
std::string reason_in(const std::string& text) {
  std::istringstream in(text);
  std::string line, last;
  while (std::getline(in, line)) {
    const bool trace = line.starts_with("Backtrace") || line.starts_with("  ") || line.empty();
    if (!trace && last.empty()) { last = line; }
  }
  return in_quotes(last);
}

}  // namespace

std::optional<Platform> load_platform(const std::filesystem::path& file, std::string& why) {
  const std::string path = std::filesystem::absolute(file).string();
  const ApartResult result = run_apart([&] { return Loader(path).text(); }, kSeconds);
  if (result.ended) { return parsed(result.text); }
  why = reason_in(result.text);
  return std::nullopt;
}

}  // namespace tsim::sim
