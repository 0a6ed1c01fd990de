// Routed tokens: sums, balance, drops and nodes.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "models/registry.hpp"
#include "models/routing/random.hpp"
#include "models/routing/routing.hpp"

using namespace tsim::models;

namespace {

using Counts = std::vector<std::int64_t>;

std::int64_t sum(const Counts& rows) {
  return std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
}

}  // namespace

TEST_CASE("the generator gives SplitMix64's published numbers") {
  // First outputs from state 0 of the reference implementation (prng.di.unimi.it/splitmix64.c).
  Random random{};
  CHECK(random.next() == 0xe220a8397b1dcdafULL);
  CHECK(random.next() == 0x6e789e6aa1b965f4ULL);
}

TEST_CASE("binomial draws have the mean and the variance of the distribution") {
  for (const auto& trial : {std::pair{1000, 0.004}, std::pair{4096, 0.2}, std::pair{500, 0.9}}) {
    const int n = trial.first;
    const double p = trial.second;
    CAPTURE(n);
    Random random{7, static_cast<std::uint64_t>(n)};
    constexpr int kDraws = 20000;
    double first = 0;
    double second = 0;
    for (int i = 0; i < kDraws; ++i) {
      const auto x = static_cast<double>(random.binomial(n, p));
      first += x / kDraws;
      second += x * x / kDraws;
    }
    const double variance = n * p * (1 - p);
    // Five standard errors.
    CHECK(std::abs(first - n * p) < 5 * std::sqrt(variance / kDraws));
    CHECK(second - first * first == doctest::Approx(variance).epsilon(5 * std::sqrt(2.0 / kDraws)));
  }
}

TEST_CASE("uniform routing gives every expert as many rows, to one") {
  const RoutedLayer layer = route({}, {.experts = 7, .top_k = 2, .tokens = 10, .sources = 3});
  const Counts rows = expert_rows(layer);
  CHECK(sum(rows) == 3 * 10 * 2);
  for (const std::int64_t n : rows) { CHECK((n == 8 || n == 9)); }  // 60 / 7 = 8.57
  for (int s = 0; s < 3; ++s) {
    std::int64_t mine = 0;
    for (int e = 0; e < 7; ++e) { mine += layer.at(s, e); }
    CHECK(mine == 20);
  }
  CHECK(layer.dropped == 0);
}

TEST_CASE("a draw keeps every rank's sum and is the same at every run") {
  const RoutingSpec spec{.load = RoutingLoad::zipf, .exponent = 0.8, .seed = 3};
  const RoutingInput in{.experts = 64, .top_k = 6, .tokens = 4096, .sources = 8, .layer = 2};
  const RoutedLayer layer = route(spec, in);
  for (int s = 0; s < 8; ++s) {
    std::int64_t mine = 0;
    for (int e = 0; e < 64; ++e) {
      CHECK(layer.at(s, e) >= 0);
      CHECK(layer.at(s, e) <= 4096);
      mine += layer.at(s, e);
    }
    CHECK(mine == 4096 * 6);
  }
  CHECK(route(spec, in).rows == layer.rows);
  RoutingInput next = in;
  next.micro_batch = 1;
  CHECK(route(spec, next).rows != layer.rows);
  RoutingSpec other = spec;
  other.seed = 4;
  CHECK(route(other, in).rows != layer.rows);
}

TEST_CASE("Zipf's most popular expert gets its share, in every layer another one") {
  // top-1 of 4 experts with exponent 1: 1 / (1 + 1/2 + 1/3 + 1/4) = 0.48 of the tokens.
  const RoutingSpec spec{.load = RoutingLoad::zipf, .exponent = 1};
  Counts popular(4, 0);
  for (int layer = 0; layer < 40; ++layer) {
    const RoutedLayer routed =
        route(spec, {.experts = 4, .top_k = 1, .tokens = 10000, .layer = layer});
    const auto most = std::ranges::max_element(routed.rows);
    CHECK(static_cast<double>(*most) == doctest::Approx(4800).epsilon(0.05));
    CHECK(routed.imbalance == doctest::Approx(4 * 0.48).epsilon(0.05));
    ++popular[static_cast<std::size_t>(most - routed.rows.begin())];
  }
  for (const std::int64_t n : popular) { CHECK(n > 0); }
}

TEST_CASE("no token goes to an expert twice") {
  // Shares of 0.9, 0.05, 0.05 and two choices: all tokens choose the first, half each other one.
  RoutingSpec spec{.load = RoutingLoad::histogram, .shares = {{0.9, 0.05, 0.05}}};
  const std::vector<double> p = inclusion(spec, {.experts = 3, .top_k = 2});
  CHECK(p[0] == doctest::Approx(1));
  CHECK(p[1] == doctest::Approx(0.5));
  CHECK(p[2] == doctest::Approx(0.5));
}

TEST_CASE("full balance makes every load even on average") {
  RoutingSpec spec{.load = RoutingLoad::zipf, .exponent = 2, .balance = 1};
  for (const double p : inclusion(spec, {.experts = 8, .top_k = 2})) {
    CHECK(p == doctest::Approx(0.25));
  }
  const RoutingInput in{.experts = 8, .top_k = 2, .tokens = 4096};
  spec.balance = 0.5;
  const double half = route(spec, in).imbalance;
  spec.balance = 0;
  CHECK(half < route(spec, in).imbalance);
}

TEST_CASE("what exceeds a capacity is dropped") {
  // Four experts, 100 tokens to one each: 70, 10, 10, 10. Capacity 1.2 x 25 = 30.
  const RoutingSpec spec{.kind = RoutingKind::top_k_capacity,
                         .load = RoutingLoad::trace,
                         .capacity_factor = 1.2,
                         .shares = {{70, 10, 10, 10}}};
  const RoutedLayer layer = route(spec, {.experts = 4, .top_k = 1, .tokens = 100});
  CHECK(layer.capacity == 30);
  CHECK(layer.rows == Counts{30, 10, 10, 10});
  CHECK(layer.routed == 100);
  CHECK(layer.dropped == 40);
  CHECK(layer.imbalance == doctest::Approx(2));
}

TEST_CASE("a tiny capacity drops nearly all, one row of each expert stays") {
  const RoutingSpec spec{.kind = RoutingKind::top_k_capacity, .capacity_factor = 1e-6};
  const RoutedLayer layer = route(spec, {.experts = 4, .top_k = 2, .tokens = 1000});
  CHECK(layer.rows == Counts{1, 1, 1, 1});
  CHECK(layer.dropped == 1996);
}

TEST_CASE("local groups drop what a common capacity would keep") {
  RoutingSpec spec{.kind = RoutingKind::top_k_capacity,
                   .load = RoutingLoad::zipf,
                   .exponent = 0,
                   .capacity_factor = 1};
  const RoutingInput in{.experts = 16, .top_k = 2, .tokens = 2048};
  const std::int64_t common = route(spec, in).dropped;
  spec.local_groups = 16;
  CHECK(route(spec, in).dropped > common);
  CHECK(route(spec, in).capacity == 16 * 16);  // 128 tokens x 2 / 16 in each
}

TEST_CASE("GShard's second expert takes part at random") {
  const RoutingSpec spec{.second_expert = 0.5};
  CHECK(route(spec, {.experts = 4, .top_k = 2, .tokens = 1000}).routed == 1500);
}

TEST_CASE("experts that choose fill their capacity and leave tokens out") {
  // Capacity 1 x 1024 x 2 / 8 = 256; (1 - 1/4)^8 = 0.1001 of 1024 unchosen.
  const RoutingSpec spec{.kind = RoutingKind::expert_choice, .capacity_factor = 1};
  const RoutedLayer layer = route(spec, {.experts = 8, .top_k = 2, .tokens = 1024});
  CHECK(layer.rows == Counts(8, 256));
  CHECK(layer.imbalance == 1);
  CHECK(layer.dropped == 103);
}

TEST_CASE("a capacity ratio below one drops the rest of the batch") {
  // V-MoE's C = 0.5: half of the pairs.
  const RoutingSpec spec{.kind = RoutingKind::batch_priority, .capacity_factor = 0.5};
  const RoutedLayer layer = route(spec, {.experts = 32, .top_k = 2, .tokens = 1024});
  CHECK(layer.dropped == layer.routed / 2);
}

TEST_CASE("an expert without tokens has no rows") {
  const RoutingSpec spec{.load = RoutingLoad::trace, .shares = {{3, 0, 1}}};
  CHECK(route(spec, {.experts = 3, .top_k = 1, .tokens = 8}).rows == Counts{6, 0, 2});
}

TEST_CASE("tokens spread over as many nodes as chance tells") {
  // Two experts of four, two nodes of two: both on one node with 1/3, so 5/3 nodes.
  RoutingInput in{.experts = 4, .top_k = 2, .tokens = 8, .nodes = 2};
  CHECK(route({}, in).nodes_per_token == doctest::Approx(5.0 / 3));
  in.nodes = 1;
  CHECK(route({}, in).nodes_per_token == 1);
  in.nodes = 4;
  CHECK(route({}, in).nodes_per_token == doctest::Approx(2));
}

TEST_CASE("a limit of nodes bounds a token's spread") {
  // DeepSeek-V3: 8 of 256 experts on 8 nodes, 4 nodes at most: each of the 4 is missed with
  // C(96,8)/C(128,8) = 0.0927.
  const RoutingSpec spec{.kind = RoutingKind::node_limited, .node_limit = 4};
  const RoutingInput in{.experts = 256, .top_k = 8, .tokens = 4096, .nodes = 8};
  double missed = 1;
  for (int j = 0; j < 8; ++j) { missed *= (96.0 - j) / (128.0 - j); }
  CHECK(route(spec, in).nodes_per_token == doctest::Approx(4 * (1 - missed)));
  CHECK(route({}, in).nodes_per_token > 5);
}

TEST_CASE("recorded tokens tell their nodes themselves") {
  const RoutingSpec spec{
      .load = RoutingLoad::trace, .shares = {{2, 1, 1, 2}}, .routes = {{0, 1, 0, 3, 2, 3}}};
  // Tokens on nodes {0}, {0, 1}, {1}.
  CHECK(route(spec, {.experts = 4, .top_k = 2, .tokens = 3, .nodes = 2}).nodes_per_token ==
        doctest::Approx(4.0 / 3));
}

TEST_CASE("a routing has to fit the model's layers and experts") {
  const ModelConfig model = *model_named("mixtral-8x7b");
  const auto keys = [&](const RoutingSpec& spec) {
    std::vector<std::string> found;
    for (const ConfigProblem& p : problems(spec, model, 4)) { found.push_back(p.key); }
    return found;
  };
  using Keys = std::vector<std::string>;
  CHECK(keys({}).empty());
  const std::vector<double> even(8, 0.125);
  CHECK(keys({.load = RoutingLoad::histogram, .shares = {even}}).empty());
  CHECK(keys({.load = RoutingLoad::histogram, .shares = {even, even}}) == Keys{"histogram"});
  CHECK(keys({.load = RoutingLoad::histogram, .shares = {{0.5, 0.5}}}) == Keys{"histogram/0"});
  CHECK(keys({.load = RoutingLoad::histogram, .shares = {std::vector<double>(8, 0.2)}}) ==
        Keys{"histogram/0"});
  CHECK(keys({.load = RoutingLoad::trace, .shares = {{9, 0, 0, 0, 0, 0, 0, 0}}}) ==
        Keys{"trace/0"});
  CHECK(keys({.kind = RoutingKind::node_limited, .node_limit = 1}).empty());  // 2 experts a node
  CHECK(problems({}, *model_named("gpt2")).size() == 1);
}
