// What a routing cannot be with a model.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "models/routing/routing.hpp"

namespace tsim::models {
namespace {

std::string text(std::int64_t n) { return std::to_string(n); }

class Checker {
 public:
  Checker(const RoutingSpec& spec, const ModelConfig& config, int nodes)
      : s_(spec), c_(config), nodes_(nodes) {
    for (const std::int64_t experts : layer_experts(config)) {
      if (experts > 0) { layers_.push_back(experts); }
    }
  }

  std::vector<ConfigProblem> check() && {
    if (layers_.empty()) {
      report("kind", std::string(name_of(s_.kind)), "no routing: the model has no experts");
      return std::move(found_);
    }
    check_kind();
    const bool from_file = s_.load == RoutingLoad::trace || s_.load == RoutingLoad::histogram;
    if (from_file && fits_layers(s_.shares.size())) { check_shares(); }
    if (s_.load == RoutingLoad::trace && !s_.routes.empty()) { check_routes(); }
    return std::move(found_);
  }

 private:
  const char* list() const { return s_.load == RoutingLoad::trace ? "trace" : "histogram"; }

  void report(std::string key, std::string found, std::string expected, std::string hint = "") {
    found_.push_back({std::move(key), std::move(found), std::move(expected), std::move(hint)});
  }

  void check_kind() {
    if (s_.second_expert < 1 && c_.moe.top_k != 2) {
      report("second_expert", std::to_string(s_.second_expert), "1, or a model with top_k 2");
    }
    const std::int64_t fewest = *std::min_element(layers_.begin(), layers_.end());
    if (s_.kind != RoutingKind::node_limited || nodes_ < 1 || s_.node_limit >= nodes_) { return; }
    if (s_.node_limit * (fewest / nodes_) < c_.moe.top_k) {
      report("node_limit", text(s_.node_limit),
             "nodes that hold at least top_k = " + text(c_.moe.top_k) + " experts, " +
                 text(fewest / nodes_) + " each");
    }
  }

  bool fits_layers(std::size_t lists) {
    if (lists == 1 || lists == layers_.size()) { return true; }
    report(list(), text(static_cast<std::int64_t>(lists)) + " layers",
           text(static_cast<std::int64_t>(layers_.size())) +
               ": one for every layer with experts, or 1 for all");
    return false;
  }

  void check_shares() {
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const std::size_t from = s_.shares.size() == 1 ? 0 : i;
      if (from == 0 && i > 0 && layers_[i] == layers_[0]) { continue; }
      check_layer(s_.shares[from], static_cast<std::int64_t>(from), layers_[i]);
    }
  }

  void check_layer(const std::vector<double>& shares, std::int64_t layer, std::int64_t experts) {
    const std::string key = std::string(list()) + "/" + text(layer);
    if (static_cast<std::int64_t>(shares.size()) != experts) {
      report(key, text(static_cast<std::int64_t>(shares.size())) + " numbers",
             text(experts) + ": one for every expert");
      return;
    }
    const auto used =
        std::count_if(shares.begin(), shares.end(), [](double share) { return share > 0; });
    if (used < c_.moe.top_k) {
      report(key, text(used) + " experts with tokens",
             "at least top_k = " + text(c_.moe.top_k) + " of them");
    }
    const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
    if (s_.load == RoutingLoad::histogram && std::abs(sum - 1) > kSumTolerance) {
      report(key, "shares that sum to " + std::to_string(sum), "a sum of 1");
    }
  }

  void check_routes() {
    for (std::size_t i = 0; i < s_.routes.size(); ++i) {
      if (s_.routes[i].empty() ||
          s_.routes[i].size() % static_cast<std::size_t>(c_.moe.top_k) != 0) {
        report("trace/" + text(static_cast<std::int64_t>(i)),
               text(static_cast<std::int64_t>(s_.routes[i].size())) + " choices",
               "top_k = " + text(c_.moe.top_k) + " for every token");
      }
    }
  }

  static constexpr double kSumTolerance = 1e-6;
  const RoutingSpec& s_;
  const ModelConfig& c_;
  int nodes_;
  std::vector<std::int64_t> layers_;  // experts of each MoE layer
  std::vector<ConfigProblem> found_;
};

}  // namespace

std::vector<ConfigProblem> problems(const RoutingSpec& spec, const ModelConfig& config, int nodes) {
  return Checker(spec, config, nodes).check();
}

}  // namespace tsim::models
