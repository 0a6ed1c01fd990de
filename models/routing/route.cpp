#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

#include "models/routing/nodes_per_token.hpp"
#include "models/routing/random.hpp"
#include "models/routing/routing.hpp"

namespace tsim::models {
namespace {

using Counts = std::vector<std::int64_t>;

// Sums of shares that are exact in decimals must not fall short of a whole number.
constexpr double kRounding = 1e-9;

std::int64_t down(double x) { return static_cast<std::int64_t>(std::floor(x + kRounding)); }
std::int64_t up(double x) { return static_cast<std::int64_t>(std::ceil(x - kRounding)); }

/// Shares of `tokens` in whole rows: the running sum, moved by `offset` and rounded down. Offsets
/// 0, 1/n, .. of n groups make the groups' sums exact to one row.
Counts even_rows(const std::vector<double>& chosen, std::int64_t tokens, double offset) {
  Counts rows;
  rows.reserve(chosen.size());
  double sum = 0;
  std::int64_t before = down(offset);
  for (const double p : chosen) {
    sum += p * static_cast<double>(tokens);
    const std::int64_t here = down(sum + offset);
    rows.push_back(here - before);
    before = here;
  }
  return rows;
}

/// Draws of each expert on its own, then moved to the sum that the tokens make together, where the
/// draws vary most: a conditional Poisson sample's counts to first order [Hajek 1964].
Counts drawn_rows(const std::vector<double>& chosen, std::int64_t tokens, Random& random) {
  Counts rows;
  rows.reserve(chosen.size());
  double sum = 0;
  double variance = 0;
  for (const double p : chosen) {
    rows.push_back(random.binomial(tokens, p));
    sum += p;
    variance += p * (1 - p);
  }
  std::int64_t missing = down(sum * static_cast<double>(tokens) + 0.5) -
                         std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
  const auto moved = static_cast<double>(missing);
  double cumulated = random.uniform();
  for (std::size_t e = 0; e < rows.size() && variance > 0; ++e) {
    const std::int64_t before = down(cumulated);
    cumulated += moved * chosen[e] * (1 - chosen[e]) / variance;
    const std::int64_t wanted = rows[e] + down(cumulated) - before;
    const std::int64_t got = std::clamp<std::int64_t>(wanted, 0, tokens);
    missing -= got - rows[e];
    rows[e] = got;
  }
  for (std::size_t e = 0; e < rows.size() && missing != 0; ++e) {
    const std::int64_t got = std::clamp<std::int64_t>(rows[e] + missing, 0, tokens);
    missing -= got - rows[e];
    rows[e] = got;
  }
  return rows;
}

/// The groups of one layer, in order of their sources.
class Router {
 public:
  Router(const RoutingSpec& spec, const RoutingInput& in)
      : spec_(spec),
        in_(in),
        chosen_(inclusion(spec, in)),
        random_{spec.seed, 2, static_cast<std::uint64_t>(in.layer),
                static_cast<std::uint64_t>(in.micro_batch)} {}

  RoutedLayer run() && {
    out_.experts = in_.experts;
    out_.rows.assign(static_cast<std::size_t>(in_.sources * in_.experts), 0);
    for (int source = 0; source < in_.sources; ++source) { add_source(source); }
    if (has_capacity(spec_.kind)) {
      for (std::int64_t g = 0; g < spec_.local_groups; ++g) {
        out_.capacity += capacity(tokens_of(g));
      }
    }
    out_.imbalance = imbalance();
    out_.nodes_per_token = nodes_per_token(spec_, in_);
    return std::move(out_);
  }

 private:
  std::int64_t tokens_of(std::int64_t group) const {
    const std::int64_t groups = spec_.local_groups;
    return in_.tokens * (group + 1) / groups - in_.tokens * group / groups;
  }

  /// Rows that an expert takes of a group of `tokens`.
  std::int64_t capacity(std::int64_t tokens) const {
    const double mean = static_cast<double>(tokens * in_.top_k) / static_cast<double>(in_.experts);
    return std::min(tokens, up(spec_.capacity_factor * mean));
  }

  void add_source(int source) {
    for (std::int64_t g = 0; g < spec_.local_groups; ++g) {
      const std::int64_t tokens = tokens_of(g);
      if (spec_.kind == RoutingKind::expert_choice) {
        take(source, tokens);
      } else {
        keep(source, tokens, choices(source * spec_.local_groups + g, tokens));
      }
    }
  }

  /// Rows that the tokens of the model's `group`-th group choose.
  Counts choices(std::int64_t group, std::int64_t tokens) {
    const bool drawn = spec_.load == RoutingLoad::zipf || spec_.load == RoutingLoad::histogram;
    if (drawn) { return drawn_rows(chosen_, tokens, random_); }
    const auto groups = static_cast<double>(in_.sources * spec_.local_groups);
    return even_rows(chosen_, tokens, static_cast<double>(group) / groups);
  }

  void keep(int source, std::int64_t tokens, const Counts& rows) {
    const std::int64_t most = has_capacity(spec_.kind) ? capacity(tokens) : tokens;
    for (std::size_t e = 0; e < rows.size(); ++e) {
      const std::int64_t kept = std::min(rows[e], most);
      row(source, e) += kept;
      out_.routed += rows[e];
      out_.dropped += rows[e] - kept;
    }
  }

  /// Every expert fills its capacity. Choices of different experts taken as independent, a token is
  /// left out by all of them with (1 - C/T)^E.
  void take(int source, std::int64_t tokens) {
    const std::int64_t taken = capacity(tokens);
    for (std::size_t e = 0; e < chosen_.size(); ++e) { row(source, e) += taken; }
    out_.routed += taken * in_.experts;
    if (tokens == 0) { return; }
    const auto all = static_cast<double>(tokens);
    const double none =
        std::pow(1 - static_cast<double>(taken) / all, static_cast<double>(in_.experts));
    out_.dropped += down(none * all + 0.5);
  }

  std::int64_t& row(int source, std::size_t expert) {
    return out_.rows[static_cast<std::size_t>(source * in_.experts) + expert];
  }

  double imbalance() const {
    const Counts rows = expert_rows(out_);
    const std::int64_t sum = std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
    const std::int64_t most = *std::max_element(rows.begin(), rows.end());
    return sum > 0 ? static_cast<double>(most) * static_cast<double>(rows.size()) /
                         static_cast<double>(sum)
                   : 1.0;
  }

  const RoutingSpec& spec_;
  const RoutingInput& in_;
  std::vector<double> chosen_;
  Random random_;
  RoutedLayer out_;
};

}  // namespace

bool has_capacity(RoutingKind kind) {
  return kind == RoutingKind::top_k_capacity || kind == RoutingKind::expert_choice ||
         kind == RoutingKind::batch_priority;
}

RoutedLayer route(const RoutingSpec& spec, const RoutingInput& in) {
  assert(in.experts >= 1 && in.top_k >= 1 && in.top_k <= in.experts);
  assert(in.tokens >= 0 && in.sources >= 1 && in.nodes >= 1 && spec.local_groups >= 1);
  return Router(spec, in).run();
}

std::vector<std::int64_t> expert_rows(const RoutedLayer& layer) {
  std::vector<std::int64_t> sums(static_cast<std::size_t>(layer.experts), 0);
  for (std::size_t i = 0; i < layer.rows.size(); ++i) { sums[i % sums.size()] += layer.rows[i]; }
  return sums;
}

}  // namespace tsim::models
