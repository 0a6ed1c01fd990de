// Between which ranks a synthesised program may send, and what it takes on the wires.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "cost/topology.hpp"

namespace tsim::cost::synthesis {

/// The ways from rank to rank. Channels are numbered anew: those that a way uses, 0, 1, ...
class Ways {
 public:
  /// Pairs of devices that no path joins have no way; nor have those left out of `allowed` (pairs
  /// of ranks, from and to), unless it is empty. `regime` adds its steps and takes its share.
  Ways(std::span<const int> devices, std::span<const std::pair<int, int>> allowed,
       const Regime& regime, Router& router);

  int ranks() const { return ranks_; }
  /// Seconds that a byte takes on a channel.
  std::span<const double> paces() const { return paces_; }
  ChannelId channel(int number) const { return channels_[static_cast<std::size_t>(number)]; }

  bool open(int from, int to) const { return way(from, to).open; }
  /// Numbers of the channels, one crossed twice listed twice.
  std::span<const int> channels(int from, int to) const { return way(from, to).channels; }
  double latency(int from, int to) const { return way(from, to).latency; }
  /// Seconds that a byte takes on the slowest channel.
  double pace(int from, int to) const { return way(from, to).pace; }

  /// The same ways with from and to exchanged: a tree away from a rank over these is a tree towards
  /// it over the given ones.
  Ways reversed() const;
  /// Whether every rank reaches every other one, by way of others if need be.
  bool connected() const;

 private:
  struct Way {
    bool open = false;
    std::vector<int> channels;
    double latency = 0, pace = 0;
  };
  std::size_t number_of(int from, int to) const {
    return static_cast<std::size_t>(from) * static_cast<std::size_t>(ranks_) +
           static_cast<std::size_t>(to);
  }
  Way& way(int from, int to) { return ways_[number_of(from, to)]; }
  const Way& way(int from, int to) const { return ways_[number_of(from, to)]; }
  void open_way(Way& way, const Path& path, double share, const Topology& topology);
  int reached_from_first() const;

  int ranks_;
  std::vector<Way> ways_;
  std::vector<double> paces_;
  std::vector<ChannelId> channels_;
};

}  // namespace tsim::cost::synthesis
