// Algorithms of log2 n steps that wait for one another.
#include <algorithm>
#include <bit>

#include "cost/collectives/algorithms.hpp"

namespace tsim::cost::collectives {
namespace {

int device(const Request& request, int rank) {
  return request.devices[static_cast<std::size_t>(rank)];
}

/// Every rank r below `n` exchanges `bytes` with r ^ distance.
void exchange(const Request& request, Draft& draft, int n, int distance, double bytes) {
  Seconds slowest;
  for (int r = 0; r < n; ++r) {
    slowest =
        std::max(slowest, draft.send(device(request, r), device(request, r ^ distance), bytes));
  }
  draft.end_step(slowest);
}

/// The ranks from `n` on send all they have to the first ones, or get it back.
void fold(const Request& request, Draft& draft, int n, bool in) {
  Seconds slowest;
  const int extra = static_cast<int>(request.devices.size()) - n;
  for (int r = 0; r < extra; ++r) {
    const int a = device(request, n + r), b = device(request, r);
    slowest = std::max(slowest, draft.send(in ? a : b, in ? b : a, request.payload));
  }
  if (extra > 0) { draft.end_step(slowest); }
}

}  // namespace

/// All-reduce by recursive halving (reduce-scatter) and doubling (all-gather) among the largest
/// power of two of ranks; the others send theirs before and get the result after.
///   [Rabenseifner; Thakur, Rabenseifner, Gropp, IJHPCA 19, 2005]
void halving_doubling(const Request& request, Draft& draft) {
  const auto ranks = static_cast<unsigned>(request.devices.size());
  const int n = static_cast<int>(std::bit_floor(ranks));
  fold(request, draft, n, true);
  double bytes = request.payload;
  for (int distance = n / 2; distance >= 1; distance /= 2) {
    bytes /= 2;
    exchange(request, draft, n, distance, bytes);
  }
  for (int distance = 1; distance < n; distance *= 2) {
    exchange(request, draft, n, distance, bytes);
    bytes *= 2;
  }
  fold(request, draft, n, false);
}

/// ceil(log2 n) steps for any n: in step k every rank sends to the one 2^k before it all blocks it
/// has (all-gather), or to the one 2^k after it the blocks whose distance to go has bit k set
/// (all-to-all).   [Bruck et al., IEEE TPDS 8(11), 1997]
void bruck(const Request& request, Draft& draft) {
  const int n = static_cast<int>(request.devices.size());
  const double block = request.payload / n;
  for (int reach = 1; reach < n; reach *= 2) {
    int blocks = std::min(reach, n - reach);
    int shift = n - reach;
    if (request.op == CollectiveOp::all_to_all) {
      blocks = 0;
      for (int distance = 1; distance < n; ++distance) { blocks += (distance & reach) ? 1 : 0; }
      shift = reach;
    }
    Seconds slowest;
    for (int r = 0; r < n; ++r) {
      slowest = std::max(slowest, draft.send(device(request, r), device(request, (r + shift) % n),
                                             blocks * block));
    }
    draft.end_step(slowest);
  }
}

namespace {

/// Chunks of a run of ranks below n and of the ranks that folded into them.
int chunks_of_run(int ranks, int n, int first, int count) {
  return count + std::clamp(ranks - n - first, 0, count);
}

}  // namespace

/// The first half of the all-reduce; the last ranks then get their chunks from those they folded
/// into.   [Thakur, Rabenseifner, Gropp, IJHPCA 19, 2005, sec. 4.3]
void halving(const Request& request, Draft& draft) {
  const int ranks = static_cast<int>(request.devices.size());
  const int n = static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)));
  const double chunk = request.payload / ranks;
  fold(request, draft, n, true);
  for (int distance = n / 2; distance >= 1; distance /= 2) {
    Seconds slowest;
    for (int r = 0; r < n; ++r) {
      const int to = r ^ distance;
      const int chunks = chunks_of_run(ranks, n, to / distance * distance, distance);
      slowest =
          std::max(slowest, draft.send(device(request, r), device(request, to), chunks * chunk));
    }
    draft.end_step(slowest);
  }
  Seconds slowest;
  for (int r = n; r < ranks; ++r) {
    slowest = std::max(slowest, draft.send(device(request, r - n), device(request, r), chunk));
  }
  if (ranks > n) { draft.end_step(slowest); }
}

/// The second half: the last ranks give their chunks before, and get all others after.
void doubling(const Request& request, Draft& draft) {
  const int ranks = static_cast<int>(request.devices.size());
  const int n = static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)));
  const double chunk = request.payload / ranks;
  const auto extras = [&](bool in, double bytes) {
    Seconds slowest;
    for (int r = n; r < ranks; ++r) {
      const int a = device(request, r), b = device(request, r - n);
      slowest = std::max(slowest, draft.send(in ? a : b, in ? b : a, bytes));
    }
    if (ranks > n) { draft.end_step(slowest); }
  };
  extras(true, chunk);
  for (int distance = 1; distance < n; distance *= 2) {
    Seconds slowest;
    for (int r = 0; r < n; ++r) {
      const int chunks = chunks_of_run(ranks, n, r / distance * distance, distance);
      slowest = std::max(
          slowest, draft.send(device(request, r), device(request, r ^ distance), chunks * chunk));
    }
    draft.end_step(slowest);
  }
  extras(false, request.payload - chunk);
}

}  // namespace tsim::cost::collectives
