#include "cost/routing/graph_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>
#include <utility>

namespace tsim::cost {
namespace {

constexpr Bytes kMessage{1 << 20};
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max() / 4;

std::size_t index(std::int32_t i) { return static_cast<std::size_t>(i); }

}  // namespace

Seconds message_time(const Route& r) { return r.latency + kMessage / r.bandwidth; }

bool better(const Route& a, const Route& b) {
  const Seconds ta = message_time(a), tb = message_time(b);
  return ta != tb ? ta < tb : a.hops.size() < b.hops.size();
}

void append(Route& route, const Route& more) {
  route.hops.insert(route.hops.end(), more.hops.begin(), more.hops.end());
  route.latency += more.latency;
  route.bandwidth = std::min(route.bandwidth, more.bandwidth);
}

GraphSearch::GraphSearch(const Topology& t) : topology_(&t) {
  first_.assign(t.vertices.size() + 1, 0);
  for (const Link& link : t.links) {
    ++first_[index(link.a) + 1];
    ++first_[index(link.b) + 1];
    costs_.push_back(64 * std::llround(link.latency.value * 1e15) + 1);
  }
  for (std::size_t v = 1; v < first_.size(); ++v) { first_[v] += first_[v - 1]; }
  incident_.resize(2 * t.links.size());
  std::vector<std::int32_t> next(first_.begin(), first_.end() - 1);
  for (std::size_t i = 0; i < t.links.size(); ++i) {
    incident_[index(next[index(t.links[i].a)]++)] = static_cast<std::int32_t>(i);
    incident_[index(next[index(t.links[i].b)]++)] = static_cast<std::int32_t>(i);
  }
  for (auto& labels : labels_) { labels.resize(t.vertices.size()); }
}

std::span<const std::int32_t> GraphSearch::links_of(VertexId v) const {
  return {incident_.data() + first_[index(v)], incident_.data() + first_[index(v) + 1]};
}

VertexId GraphSearch::other_end(std::int32_t link, VertexId v) const {
  const Link& l = topology_->links[index(link)];
  return l.a == v ? l.b : l.a;
}

bool GraphSearch::usable(const Query& q, std::int32_t link, VertexId next) const {
  const Link& l = topology_->links[index(link)];
  if (l.bandwidth <= q.above || (q.kind && l.kind != *q.kind)) { return false; }
  if (next == q.from || next == q.to) { return true; }
  const Vertex& v = topology_->vertices[index(next)];
  if (v.kind == VertexKind::device) { return false; }
  // A NIC is no switch between the devices that share it: it is passed on the way out or in only.
  const auto node_of_end = [&](VertexId end) { return topology_->vertices[index(end)].node; };
  if (v.kind == VertexKind::nic && node_of_end(q.from) == node_of_end(q.to)) { return false; }
  return q.area.all || v.node == q.area.node;
}

/// Vertices to look at next, the cheapest first, seen from one end.
class GraphSearch::Frontier {
 public:
  Frontier(GraphSearch& search, std::vector<Label>& own, const std::vector<Label>& other)
      : search_(search), own_(own), other_(other) {}

  bool empty() const { return open_.empty(); }
  std::int64_t least() const { return open_.top().first; }

  void reach(VertexId v, std::int64_t cost) {
    Label& label = own_[index(v)];
    if (label.round == search_.round_ && label.cost <= cost) { return; }
    if (label.round != search_.round_) { touched.push_back(v); }
    label = {search_.round_, cost};
    open_.emplace(cost, v);
    const Label& met = other_[index(v)];
    if (met.round == search_.round_) { total = std::min(total, cost + met.cost); }
  }

  void expand(const Query& q) {
    const auto [cost, v] = open_.top();
    open_.pop();
    if (cost > own_[index(v)].cost) { return; }
    for (const std::int32_t link : search_.links_of(v)) {
      const VertexId next = search_.other_end(link, v);
      if (search_.usable(q, link, next)) { reach(next, cost + search_.cost(link)); }
    }
  }

  std::vector<VertexId> touched;
  std::int64_t total = kNever;  // of the best way found on which both ends met

 private:
  using Entry = std::pair<std::int64_t, VertexId>;
  GraphSearch& search_;
  std::vector<Label>& own_;
  const std::vector<Label>& other_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open_;
};

/// Dijkstra by (latency, hops); from both ends in areas that may be large.
std::int64_t GraphSearch::search(const Query& q) {
  ++round_;
  Frontier start(*this, labels_[0], labels_[1]), end(*this, labels_[1], labels_[0]);
  start.reach(q.from, 0);
  end.reach(q.to, 0);
  const bool both = q.area.all || q.area.node < 0;
  std::int64_t total = std::min(start.total, end.total);
  while (!start.empty() && !(both && end.empty())) {
    const std::int64_t from_end = both ? end.least() : 0;
    if (start.least() + from_end >= total) { break; }
    (both && from_end < start.least() ? end : start).expand(q);
    total = std::min(start.total, end.total);
  }
  touched_ = std::move(start.touched);
  return total;
}

/// Gives every vertex on a best way its cost to the end: those between the start and where both
/// ends met have only the cost from the start.
void GraphSearch::complete(const Query& q, std::int64_t total) {
  std::vector<VertexId> known;
  for (const VertexId v : touched_) {
    const Label& to_end = labels_[1][index(v)];
    if (to_end.round == round_ && labels_[0][index(v)].cost + to_end.cost == total) {
      known.push_back(v);
    }
  }
  for (std::size_t i = 0; i < known.size(); ++i) {
    const VertexId v = known[i];
    for (const std::int32_t link : links_of(v)) {
      const VertexId before = other_end(link, v);
      const Label& label = labels_[0][index(before)];
      const bool leads_here = label.round == round_ && usable(q, link, before) &&
                              label.cost + cost(link) == labels_[0][index(v)].cost;
      if (!leads_here || labels_[1][index(before)].round == round_) { continue; }
      labels_[1][index(before)] = {round_, total - label.cost};
      known.push_back(before);
    }
  }
}

std::optional<Route> GraphSearch::trace(const Query& q, std::int64_t total, std::uint64_t spread) {
  if (total >= kNever) { return std::nullopt; }
  choices_ = 1;
  complete(q, total);
  Route route;
  std::vector<std::pair<VertexId, std::int32_t>> ways;
  for (VertexId v = q.from; v != q.to;) {
    ways.clear();
    for (const std::int32_t link : links_of(v)) {
      const VertexId next = other_end(link, v);
      const Label& label = labels_[1][index(next)];
      if (label.round == round_ && usable(q, link, next) &&
          label.cost + cost(link) == labels_[1][index(v)].cost) {
        ways.emplace_back(next, link);
      }
    }
    std::sort(ways.begin(), ways.end());
    const auto [next, number] = ways[spread % ways.size()];
    spread /= ways.size();
    choices_ = std::min<std::uint64_t>(choices_ * ways.size(), 1U << 16);
    const Link& link = topology_->links[index(number)];
    append(route, {{{number, v}}, link.latency, link.bandwidth});
    v = next;
  }
  return route;
}

/// The slowest link counts once, so costs do not add up along a route. Exact all the same: the
/// lowest latency is searched for again and again over faster and faster links only.
std::optional<Route> GraphSearch::best(VertexId from, VertexId to, Area area, std::uint64_t spread,
                                       std::optional<LinkKind> limit_kind) {
  std::optional<Route> best;
  std::uint64_t choices = 1;
  Query query{from, to, area, BytesPerSecond{0}, limit_kind};
  while (true) {
    std::optional<Route> found = trace(query, search(query), spread);
    if (!found) { break; }
    query.above = found->bandwidth;
    const bool last = query.above == kUnlimited || (best && found->latency >= message_time(*best));
    if (!best || better(*found, *best)) {
      best = std::move(found);
      choices = choices_;
    }
    if (last) { break; }
  }
  choices_ = choices;
  return best;
}

std::vector<VertexId> GraphSearch::edge(VertexId from) {
  const std::int32_t node = topology_->vertices[index(from)].node;
  std::vector<VertexId> seen{from}, outer;
  ++round_;
  labels_[0][index(from)].round = round_;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    for (const std::int32_t link : links_of(seen[i])) {
      const VertexId next = other_end(link, seen[i]);
      Label& label = labels_[0][index(next)];
      if (label.round == round_) { continue; }
      label.round = round_;
      const Vertex& v = topology_->vertices[index(next)];
      if (v.node != node) {
        outer.push_back(next);
      } else if (v.kind != VertexKind::device) {
        seen.push_back(next);
      }
    }
  }
  std::sort(outer.begin(), outer.end());
  return outer;
}

Route GraphSearch::reversed(const Route& route) const {
  Route r{{route.hops.rbegin(), route.hops.rend()}, route.latency, route.bandwidth};
  for (Hop& hop : r.hops) { hop.from = other_end(hop.link, hop.from); }
  return r;
}

}  // namespace tsim::cost
