#include "models/op_graph.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <stdexcept>
#include <utility>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/depth_first_search.hpp>

namespace tsim::models {
namespace {

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

/// Pairs (producer, consumer), each once.
std::set<std::pair<OpId, OpId>> edges(const OpGraph& graph) {
  std::set<std::pair<OpId, OpId>> found;
  for (std::size_t op = 0; op < graph.ops.size(); ++op) {
    for (const Operand& input : graph.ops[op].inputs) {
      const OpId producer = graph.tensors[at(input.tensor)].producer;
      if (producer != kNoOp) { found.emplace(producer, static_cast<OpId>(op)); }
    }
  }
  return found;
}

using Digraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;

/// Collects vertices as they finish; a back edge is a cycle.
class FinishOrder : public boost::default_dfs_visitor {
 public:
  FinishOrder(const OpGraph& graph, std::vector<OpId>& finished)
      : graph_(&graph), finished_(&finished) {}
  void back_edge(Digraph::edge_descriptor e, const Digraph& g) const {
    throw std::logic_error("operator graph: '" + graph_->ops[op_of(source(e, g))].name +
                           "' needs what it makes");
  }
  void finish_vertex(Digraph::vertex_descriptor v, const Digraph&) const {
    finished_->push_back(static_cast<OpId>(op_of(v)));
  }

 private:
  std::size_t op_of(Digraph::vertex_descriptor v) const { return graph_->ops.size() - 1 - v; }

  const OpGraph* graph_;
  std::vector<OpId>* finished_;
};

}  // namespace

std::int64_t elements(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1},
                         [](std::int64_t n, const Dim& d) { return n * d.size; });
}

bool has_axis(const Shape& shape, Axis axis) {
  return std::any_of(shape.begin(), shape.end(), [axis](const Dim& d) { return d.axis == axis; });
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (const Dim& d : shape) {
    if (text.size() > 1) { text += ", "; }
    text += std::string(name_of(d.axis)) + " " + std::to_string(d.size);
  }
  return text + "]";
}

Bytes size_of(const Tensor& tensor) {
  return elements(tensor.shape) * Bytes{size_of(tensor.dtype)};
}

Flops model_flops(const Op& op) {
  return Flops{op.flops_per_point * static_cast<double>(elements(op.space))};
}

std::vector<OpId> consumers(const OpGraph& graph, OpId op) {
  std::vector<OpId> found;
  for (const auto& [producer, consumer] : edges(graph)) {
    if (producer == op) { found.push_back(consumer); }
  }
  return found;
}

OpGraph topologically_sorted(OpGraph graph) {
  // Vertices are numbered from the last operator backwards: a search from vertex 0 on then leaves
  // a graph that is already in order as it is.
  const std::size_t n = graph.ops.size();
  Digraph digraph(n);
  for (const auto& [producer, consumer] : edges(graph)) {
    add_edge(n - 1 - at(producer), n - 1 - at(consumer), digraph);
  }
  std::vector<OpId> order;
  depth_first_search(digraph, boost::visitor(FinishOrder(graph, order)));
  std::reverse(order.begin(), order.end());

  std::vector<Op> sorted;
  std::vector<OpId> new_id(n);
  for (const OpId old : order) {
    new_id[at(old)] = static_cast<OpId>(sorted.size());
    sorted.push_back(std::move(graph.ops[at(old)]));
  }
  graph.ops = std::move(sorted);
  for (Tensor& t : graph.tensors) {
    if (t.producer != kNoOp) { t.producer = new_id[at(t.producer)]; }
  }
  return graph;
}

std::int64_t parameters(const OpGraph& graph) {
  std::int64_t sum = 0;
  for (const Tensor& t : graph.tensors) {
    if (t.role == Role::weight) { sum += elements(t.shape); }
  }
  return sum;
}

std::int64_t trained_parameters(const OpGraph& graph) {
  std::int64_t sum = 0;
  for (const Tensor& t : graph.tensors) {
    if (t.role == Role::weight && !t.frozen) { sum += elements(t.shape); }
  }
  return sum;
}

std::vector<TensorId> saved_tensors(const OpGraph& graph) {
  std::set<TensorId> saved;
  for (const Op& op : graph.ops) { saved.insert(op.saved.begin(), op.saved.end()); }
  if (graph.memory >= 0) {
    const bool hands_on =
        graph.memory == graph.input || graph.tensors[at(graph.memory)].producer != kNoOp;
    if (hands_on) {
      saved.insert(graph.memory);
    } else {
      saved.erase(graph.memory);
    }
  }
  return {saved.begin(), saved.end()};
}

Bytes saved_bytes(const OpGraph& graph) {
  Bytes sum;
  for (const TensorId id : saved_tensors(graph)) { sum += size_of(graph.tensors[at(id)]); }
  return sum;
}

}  // namespace tsim::models
