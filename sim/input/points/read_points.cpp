#include "sim/input/points/read_points.hpp"

#include "sim/input/data_files.hpp"
#include "sim/input/suggest.hpp"

namespace tsim::sim {
namespace fs = std::filesystem;
namespace {

using cost::Measured;
using cost::MeasuredPoint;

constexpr std::string_view kSchema = "tsim-points";
constexpr RealRange kMicroseconds{.least = 0.0, .most = 1e12, .above = true};
constexpr RealRange kAny{.least = -1e12, .most = 1e12};
constexpr RealRange kFromZero{.least = 0.0, .most = 1e18};

Seconds read_us(const Place& place, std::optional<Seconds> fallback = {}) {
  const std::optional<double> us = fallback ? std::optional(fallback->value * 1e6) : std::nullopt;
  // A fallback of zero means "not measured": the range is for what is written.
  return place.present() || !us ? Seconds{read_real(place, kMicroseconds) * 1e-6} : *fallback;
}

cost::Provenance read_source(const Place& place) {
  cost::Provenance source;
  if (!place.value->is_object()) {
    place.fail(place.found(), "an object: what was measured on, and when");
    return source;
  }
  Reader in(place);
  for (const auto& [key, value] : place.value->items()) {
    const Place fact = in.take(key);
    if (value.is_string()) {
      source.facts.emplace_back(key, value.get<std::string>());
    } else if (value.is_number()) {
      source.facts.emplace_back(key, value.dump());
    } else {
      fact.fail(fact.found(), "a text or a number");
    }
  }
  return source;
}

void read_point(const Place& place, int sources, Measured& measured) {
  Reader in(place);
  const Place work = in.take("work");
  const std::string line = read_text(work);
  const std::optional<cost::Subject> subject = cost::subject_of(line);
  if (work.present() && !line.empty() && !subject) {
    work.fail(in_quotes(line), "a work line", "`tsim-measure --forms` lists what there is");
  }
  MeasuredPoint point;
  point.median = read_us(in.take("us"));
  point.low = read_us(in.take("low"), point.median);
  point.high = read_us(in.take("high"), point.median);
  point.cold = read_us(in.take("cold_us"), Seconds{});
  point.count = static_cast<int>(read_count(in.take("count"), {0, kMostCounted}, 0));
  point.source = static_cast<int>(read_count(in.take("source"), {0, sources - 1}, 0));
  in.finish();
  if (!subject) { return; }
  point.shape = subject->shape;
  if (!cost::add_point(measured, subject->series, point)) {
    work.fail(in_quotes(line), "each work line once");
  }
}

std::vector<double> read_numbers(const Place& place) {
  std::vector<double> numbers;
  for (const Place& entry : read_entries(place)) { numbers.push_back(read_real(entry, kAny)); }
  return numbers;
}

/// The series that a surface or a text such as "gemm bf16 nt" names.
cost::Series* named_series(const Place& place, Measured& measured) {
  const std::string name = read_text(place);
  for (cost::Series& series : measured.series) {
    if (cost::name_of(series.key) == name) { return &series; }
  }
  if (!name.empty()) { place.fail(in_quotes(name), "a series that has points"); }
  return nullptr;
}

void read_surface(const Place& place, Measured& measured) {
  Reader in(place);
  cost::Series* const series = named_series(in.take("series"), measured);
  cost::Surface surface;
  const Place coefficients = in.take("coefficients");
  const Place low = in.take("low");
  const Place high = in.take("high");
  surface.coefficients = read_numbers(coefficients);
  surface.low = read_numbers(low);
  surface.high = read_numbers(high);
  surface.residual = read_real(in.take("residual"), kFromZero, 0.0);
  surface.points = static_cast<int>(read_count(in.take("points"), {}, 1));
  in.finish();
  if (series == nullptr) { return; }
  const std::size_t n = cost::counts_of(series->key.kind);
  const std::size_t terms = surface.coefficients.size();
  const bool fits = terms == 1 + n || terms == 1 + n + n * (n + 1) / 2;
  if (coefficients.present() && !fits) {
    coefficients.fail(std::to_string(terms) + " numbers",
                      std::to_string(1 + n) + " or " + std::to_string(1 + n + n * (n + 1) / 2));
  }
  bool boxed = true;
  for (const auto& [side, sizes] :
       {std::pair(&low, &surface.low), std::pair(&high, &surface.high)}) {
    if (sizes->size() == n) { continue; }
    boxed = false;
    if (side->present()) {
      side->fail(std::to_string(sizes->size()) + " numbers", std::to_string(n));
    }
  }
  if (!fits || !boxed) { return; }
  for (std::size_t i = 0; i < n; ++i) {
    if (surface.low[i] > surface.high[i]) {
      low.fail(std::to_string(surface.low[i]), "not above \"high\"");
      return;
    }
  }
  series->surface = std::move(surface);
}

void read_link(const Place& place, Measured& measured) {
  Reader in(place);
  cost::AlphaBeta link;
  link.operation = read_text(in.take("operation"));
  link.ranks = static_cast<int>(read_count(in.take("ranks"), {0, kMostCounted}, 0));
  link.alpha = Seconds{read_real(in.take("alpha_us"), kFromZero) * 1e-6};
  link.rate = {read_real(in.take("bytes_per_s"), {.least = 0, .most = 1e18, .above = true})};
  link.least = Bytes{read_count(in.take("least_bytes"), {1, std::int64_t{1} << 60})};
  link.most = Bytes{read_count(in.take("most_bytes"), {1, std::int64_t{1} << 60})};
  link.residual = read_real(in.take("residual"), kFromZero, 0.0);
  link.points = static_cast<int>(read_count(in.take("points"), {}, 1));
  in.finish();
  measured.links.push_back(std::move(link));
}

void check_head(Reader& in) {
  const Place schema = in.take("schema");
  const std::string found = read_text(schema, std::string(kSchema));
  if (found != kSchema) { schema.fail(in_quotes(found), in_quotes(std::string(kSchema))); }
  const Place version = in.take("version");
  const std::int64_t number = read_count(version, {}, 1);
  if (number != 1) {
    version.fail(std::to_string(number), "1", "the file was written by a later tsim");
  }
}

Measured read_object(const Place& place) {
  Reader in(place);
  Measured measured;
  check_head(in);
  for (const Place& source : read_entries(in.take("sources"))) {
    measured.sources.push_back(read_source(source));
  }
  const int sources = std::max(1, static_cast<int>(measured.sources.size()));
  for (const Place& point : read_entries(in.take("points"))) {
    read_point(point, sources, measured);
  }
  for (const auto& [key, read] :
       {std::pair("surfaces", &read_surface), std::pair("links", &read_link)}) {
    const Place list = in.take(key);
    if (!list.present()) { continue; }
    for (const Place& entry : read_entries(list)) { read(entry, measured); }
  }
  in.finish();
  return measured;
}

}  // namespace

Measured read_points_file(const fs::path& path, Problems& problems) {
  const std::optional<Json> document = read_json_file(path, problems);
  if (!document) { return {}; }
  const Source source{.problems = &problems, .file = path.string()};
  return read_object(Place{&*document, "", &source});
}

Measured read_points(const Place& place, const fs::path& folder) {
  if (place.value->is_object()) { return read_object(place); }
  const std::string written = read_text(place);
  if (written.empty()) { return {}; }
  const std::optional<fs::path> path = find_path(written, folder);
  if (!path) {
    place.fail(in_quotes(written), "the path of a file of points", "no such file");
    return {};
  }
  return read_points_file(*path, *place.source->problems);
}

}  // namespace tsim::sim
