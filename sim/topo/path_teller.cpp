#include "sim/topo/path_teller.hpp"

namespace tsim::sim {
namespace {

using cost::Topology;
using cost::VertexId;

std::size_t index(std::int32_t i) { return static_cast<std::size_t>(i); }

/// The text as far as a walk has come.
class Walk {
 public:
  Walk(const Topology& t, VertexId start) : t_(t) { pass(start); }

  VertexId at() const { return at_; }
  const std::string& text() const { return text_; }

  void cross(VertexId from, VertexId to) {
    reach(from);
    pass(to);
  }
  void reach(VertexId v) {
    if (at_ == v) { return; }
    text_ += " ..";
    pass(v);
  }

 private:
  void pass(VertexId v) {
    const std::string& name = t_.vertices[index(v)].name;
    const std::string node = name.substr(0, name.find('/') + 1);  // none: npos + 1 == 0
    text_ += text_.empty() ? "" : " > ";
    text_ += node == node_ ? name.substr(node.size()) : name;
    node_ = node;
    at_ = v;
  }

  const Topology& t_;
  VertexId at_ = -1;
  std::string text_, node_;
};

}  // namespace

PathTeller::PathTeller(const Topology& topology)
    : topology_(&topology), link_of_(topology.channels.size()) {
  for (std::size_t i = 0; i < topology.links.size(); ++i) {
    for (const cost::ChannelId c : {topology.forward_channel[i], topology.backward_channel[i]}) {
      if (c != cost::kNoChannel) { link_of_[index(c)] = static_cast<std::int32_t>(i); }
    }
  }
}

std::string PathTeller::text(const cost::Path& path, VertexId from, VertexId to) const {
  const Topology& t = *topology_;
  Walk walk(t, from);
  for (const cost::ChannelId c : path.channels) {
    const std::int32_t i = link_of_[index(c)];
    const cost::Link& link = t.links[index(i)];
    // One channel of a half-duplex link serves both directions.
    const bool backward =
        link.full_duplex ? t.backward_channel[index(i)] == c : walk.at() == link.b;
    if (backward) {
      walk.cross(link.b, link.a);
    } else {
      walk.cross(link.a, link.b);
    }
  }
  walk.reach(to);
  return walk.text();
}

}  // namespace tsim::sim
