#include "sim/input/read_routing_trace.hpp"

#include <numeric>
#include <string>

#include "sim/input/json_reader.hpp"

namespace tsim::sim {
namespace {

constexpr Range kExperts{.least = 1, .most = 65'536};
constexpr Range kLayers{.least = 0, .most = 2'000};
constexpr double kMostRows = 1e15;

/// One layer's numbers so far.
struct Layer {
  std::vector<double> counts;
  std::vector<std::int32_t> routes;
};

std::string shown(const Json& value) {
  constexpr std::size_t kLong = 40;
  const std::string text = value.dump();
  return text.size() > kLong ? text.substr(0, kLong) + ".." : text;
}

/// Adds the list of counts at `place`.
void add_counts(const Place& place, Layer& layer) {
  if (!place.present() || !place.value->is_array() || place.value->empty()) {
    place.fail(place.found(), "a list with the rows of each expert");
    return;
  }
  const Json& list = *place.value;
  if (!layer.counts.empty() && layer.counts.size() != list.size()) {
    place.fail(std::to_string(list.size()) + " experts",
               std::to_string(layer.counts.size()) + ", as before");
    return;
  }
  layer.counts.resize(list.size(), 0.0);
  for (std::size_t e = 0; e < list.size(); ++e) {
    const bool count = list[e].is_number_unsigned() && list[e].get<double>() <= kMostRows;
    if (!count) {
      place.source->problems->add({.path = place.path + "/" + std::to_string(e),
                                   .found = shown(list[e]),
                                   .expected = "a whole number of rows, 0 or more",
                                   .file = place.source->file});
      return;
    }
    layer.counts[e] += list[e].get<double>();
  }
}

/// Whether `token` is a list of distinct experts below `experts`.
bool is_token(const Json& token, std::int64_t experts) {
  if (!token.is_array() || token.empty()) { return false; }
  for (std::size_t i = 0; i < token.size(); ++i) {
    const bool id = token[i].is_number_unsigned() && token[i].get<double>() < kMostRows &&
                    token[i].get<std::int64_t>() < experts;
    if (!id) { return false; }
    for (std::size_t j = 0; j < i; ++j) {
      if (token[i] == token[j]) { return false; }
    }
  }
  return true;
}

void add_routes(const Place& place, std::int64_t experts, Layer& layer) {
  if (!place.value->is_array() || place.value->empty()) {
    place.fail(place.found(), "a list with the experts of each token");
    return;
  }
  layer.counts.resize(static_cast<std::size_t>(experts), 0.0);
  const std::size_t width = place.value->front().size();
  for (std::size_t t = 0; t < place.value->size(); ++t) {
    const Json& token = (*place.value)[t];
    if (!is_token(token, experts) || token.size() != width) {
      place.source->problems->add({.path = place.path + "/" + std::to_string(t),
                                   .found = shown(token),
                                   .expected = std::to_string(width) +
                                               " different experts from 0 to " +
                                               std::to_string(experts - 1),
                                   .file = place.source->file});
      return;
    }
    for (const Json& expert : token) {
      const auto id = expert.get<std::int32_t>();
      layer.counts[static_cast<std::size_t>(id)] += 1;
      layer.routes.push_back(id);
    }
  }
}

std::vector<Layer> read_document(const Place& root) {
  Reader in(root);
  const Place counts = in.take("counts");
  const Place routes = in.take("routes");
  const Place experts = in.take("experts");
  std::vector<Layer> layers;
  if (counts.present() == routes.present()) {
    root.fail(counts.present() ? "both counts and routes" : "neither counts nor routes",
              "one of them");
    return layers;
  }
  const std::int64_t number =
      routes.present() ? read_count(experts, kExperts) : read_count(experts, kExperts, 1);
  const std::vector<Place> lists = read_entries(routes.present() ? routes : counts);
  layers.resize(lists.size());
  for (std::size_t i = 0; i < lists.size(); ++i) {
    if (routes.present()) {
      add_routes(lists[i], number, layers[i]);
    } else {
      add_counts(lists[i], layers[i]);
    }
  }
  in.finish();
  return layers;
}

void read_line(const Place& root, std::vector<Layer>& layers) {
  Reader in(root);
  const auto at = static_cast<std::size_t>(read_count(in.take("layer"), kLayers));
  const Place counts = in.take("counts");
  const Place routes = in.take("routes");
  const Place experts = in.take("experts");
  if (at >= layers.size()) { layers.resize(at + 1); }
  if (routes.present()) {
    add_routes(routes, read_count(experts, kExperts), layers[at]);
  } else {
    add_counts(counts, layers[at]);
  }
  in.finish();
}

std::vector<Layer> read_lines(const std::string& text, const Source& source) {
  std::vector<Layer> layers;
  std::size_t from = 0;
  for (int number = 1; from < text.size(); ++number) {
    const std::size_t to = std::min(text.find('\n', from), text.size());
    const std::string line = text.substr(from, to - from);
    from = to + 1;
    if (line.find_first_not_of(" \t\r") == std::string::npos) { continue; }
    const std::size_t before = source.problems->errors().size();
    const Source here{.problems = source.problems,
                      .file = source.file + ":" + std::to_string(number)};
    const std::optional<Json> document = parse_json(line, here.file, *here.problems);
    if (document) { read_line({.value = &*document, .path = "", .source = &here}, layers); }
    if (source.problems->errors().size() != before) { return {}; }
  }
  return layers;
}

/// Every token takes part in every layer: a layer with fewer rows was not recorded whole.
void check_sums(const std::vector<Layer>& layers, const Source& source) {
  const auto sum = [](const Layer& layer) {
    return std::accumulate(layer.counts.begin(), layer.counts.end(), 0.0);
  };
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const double rows = sum(layers[i]);
    if (rows > 0 && rows == sum(layers.front())) { continue; }
    source.problems->add(
        {.path = "/" + std::to_string(i),
         .found = "layer " + std::to_string(i) + " with " +
                  std::to_string(static_cast<std::int64_t>(rows)) + " rows",
         .expected = rows > 0 ? std::to_string(static_cast<std::int64_t>(sum(layers.front()))) +
                                    ", as layer 0 has"
                              : "1 or more",
         .file = source.file});
  }
}

}  // namespace

void read_routing_trace(const std::filesystem::path& path, models::RoutingSpec& spec,
                        Problems& problems) {
  const Source source{.problems = &problems, .file = path.string()};
  const std::size_t before = problems.errors().size();
  std::vector<Layer> layers;
  if (path.extension() == ".jsonl") {
    std::string why;
    const std::optional<std::string> text = file_text(path, why);
    if (!text) {
      problems.add({.path = "", .found = why, .expected = "a readable file", .file = source.file});
      return;
    }
    layers = read_lines(*text, source);
  } else if (const std::optional<Json> document = read_json_file(path, problems)) {
    layers = read_document({.value = &*document, .path = "", .source = &source});
  }
  if (problems.errors().size() != before) { return; }
  check_sums(layers, source);
  bool routed = true;
  for (Layer& layer : layers) {
    routed = routed && !layer.routes.empty();
    spec.shares.push_back(std::move(layer.counts));
  }
  for (Layer& layer : layers) {
    if (routed) { spec.routes.push_back(std::move(layer.routes)); }
  }
}

}  // namespace tsim::sim
