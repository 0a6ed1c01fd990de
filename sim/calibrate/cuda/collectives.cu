#include <vector>

#include "sim/calibrate/cuda/collectives.hpp"
#include "sim/calibrate/cuda/products.hpp"

#ifdef TSIM_HAVE_NCCL
#include <nccl.h>
#endif

namespace tsim::calibrate {

#ifdef TSIM_HAVE_NCCL

namespace {

void check_nccl(ncclResult_t status, const char* what) {
  if (status != ncclSuccess) {
    throw std::runtime_error(std::string("NCCL: ") + what + " gave " + ncclGetErrorString(status));
  }
}

}  // namespace

struct Collectives::Group {
  int ranks = 0;
  std::vector<ncclComm_t> comms;
  std::vector<Stream> streams;
  std::vector<Buffer> in, out;

  explicit Group(int n) : ranks(n), comms(static_cast<std::size_t>(n)) {
    check_nccl(ncclCommInitAll(comms.data(), n, nullptr), "start");
    for (int rank = 0; rank < n; ++rank) {
      check(cudaSetDevice(rank));
      streams.emplace_back();
    }
    check(cudaSetDevice(0));
  }
  ~Group() {
    for (ncclComm_t comm : comms) { ncclCommDestroy(comm); }
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  void make_room(std::size_t bytes) {
    in.clear();
    out.clear();
    for (int rank = 0; rank < ranks; ++rank) {
      check(cudaSetDevice(rank));
      in.push_back(Buffer::on_device(bytes));
      out.push_back(Buffer::on_device(bytes));
      fill(in.back(), Format::bf16, streams[static_cast<std::size_t>(rank)]);
    }
    check(cudaSetDevice(0));
  }

  void one(const std::string& op, std::size_t rank, std::size_t count) {
    const std::size_t part = count / static_cast<std::size_t>(ranks);
    const void* const from = in[rank].data();
    void* const to = out[rank].data();
    ncclComm_t comm = comms[rank];
    const cudaStream_t stream = streams[rank];
    const auto type = ncclBfloat16;
    if (op == "all_reduce") {
      check_nccl(ncclAllReduce(from, to, count, type, ncclSum, comm, stream), "all-reduce");
    } else if (op == "all_gather") {
      check_nccl(ncclAllGather(from, to, part, type, comm, stream), "all-gather");
    } else if (op == "reduce_scatter") {
      check_nccl(ncclReduceScatter(from, to, part, type, ncclSum, comm, stream), "reduce-scatter");
    } else if (op == "broadcast") {
      check_nccl(ncclBroadcast(from, to, count, type, 0, comm, stream), "broadcast");
    } else if (op == "reduce") {
      check_nccl(ncclReduce(from, to, count, type, ncclSum, 0, comm, stream), "reduce");
    } else {
      exchange(op, rank, count, part);
    }
  }

  /// The operations made of sends and receives.
  void exchange(const std::string& op, std::size_t rank, std::size_t count, std::size_t part) {
    const auto type = ncclBfloat16;
    const cudaStream_t stream = streams[rank];
    ncclComm_t comm = comms[rank];
    if (op == "all_to_all") {
      for (int peer = 0; peer < ranks; ++peer) {
        const std::size_t offset = 2 * part * static_cast<std::size_t>(peer);
        check_nccl(ncclSend(in[rank].as<char>() + offset, part, type, peer, comm, stream), "send");
        check_nccl(ncclRecv(out[rank].as<char>() + offset, part, type, peer, comm, stream),
                   "receive");
      }
      return;
    }
    const bool both = op == "send_recv_both";
    const int peer = rank == 0 ? 1 : 0;
    if (rank > 1) { return; }
    if (rank == 0 || both) {
      check_nccl(ncclSend(in[rank].data(), count, type, peer, comm, stream), "send");
    }
    if (rank == 1 || both) {
      check_nccl(ncclRecv(out[rank].data(), count, type, peer, comm, stream), "receive");
    }
  }

  void all(const std::string& op, std::size_t count) {
    check_nccl(ncclGroupStart(), "group");
    for (int rank = 0; rank < ranks; ++rank) { one(op, static_cast<std::size_t>(rank), count); }
    check_nccl(ncclGroupEnd(), "group");
  }
};

Collectives::Collectives() = default;
Collectives::~Collectives() = default;

Collectives::Group& Collectives::group(int ranks) {
  int devices = 0;
  check(cudaGetDeviceCount(&devices));
  if (ranks < 2 || ranks > devices) {
    throw NotHere("found " + std::to_string(devices) + " devices");
  }
  auto& group = groups_.at(static_cast<std::size_t>(ranks));
  if (!group) { group = std::make_unique<Group>(ranks); }
  return *group;
}

Summary Collectives::time(const std::string& op, int ranks, std::size_t bytes) {
  Group& g = group(ranks);
  g.make_room(bytes);
  const std::size_t count = std::max<std::size_t>(bytes / 2, static_cast<std::size_t>(ranks));
  if (2 * count > bytes) { g.make_room(2 * count); }
  Summary summary = time_calls([&](int) { g.all(op, count); }, g.streams[0]);
  g.in.clear();
  g.out.clear();
  return summary;
}

Overlap Collectives::overlap(const std::array<long, 3>& mnk, int ranks, std::size_t bytes) {
  Group& g = group(ranks);
  g.make_room(bytes);
  std::vector<Stream> streams;
  std::vector<RunningProduct> products;
  Lane compute;
  Lane communication;
  for (int rank = 0; rank < ranks; ++rank) {
    check(cudaSetDevice(rank));
    streams.emplace_back();
    products.emplace_back(Product{"bf16", "nt", 1, mnk[0], mnk[1], mnk[2]}, false, streams.back());
    compute.streams.push_back(streams.back());
    communication.streams.push_back(g.streams[static_cast<std::size_t>(rank)]);
  }
  check(cudaSetDevice(0));
  compute.enqueue = [&] {
    for (std::size_t rank = 0; rank < products.size(); ++rank) {
      check(cudaSetDevice(static_cast<int>(rank)));
      for (int i = 0; i < kProducts; ++i) { products[rank](i); }
    }
    check(cudaSetDevice(0));
  };
  communication.enqueue = [&] { g.all("all_reduce", bytes / 2); };
  const Overlap result = time_overlap(compute, communication);
  g.in.clear();
  g.out.clear();
  return result;
}

std::string Collectives::version() {
  int version = 0;
  check_nccl(ncclGetVersion(&version), "version");
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

#else

struct Collectives::Group {};
Collectives::Collectives() = default;
Collectives::~Collectives() = default;
Summary Collectives::time(const std::string&, int, std::size_t) {
  throw NotHere("built without NCCL");
}
Overlap Collectives::overlap(const std::array<long, 3>&, int, std::size_t) {
  throw NotHere("built without NCCL");
}
std::string Collectives::version() { return {}; }

#endif

}  // namespace tsim::calibrate
