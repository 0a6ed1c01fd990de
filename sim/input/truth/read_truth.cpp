#include "sim/input/truth/read_truth.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "sim/input/data_files.hpp"
#include "sim/input/json_reader.hpp"
#include "sim/input/suggest.hpp"
#include "sim/input/truth/row_documents.hpp"

namespace tsim::sim {
namespace fs = std::filesystem;
namespace {

using validate::Bounds;
using validate::Figure;
using validate::Measured;
using validate::Row;

constexpr RealRange kShare{.least = 0.0, .most = 1.0};
constexpr RealRange kRate{.least = 0.0, .most = 1e15, .above = true};
constexpr std::array<std::string_view, 2> kReadings{"allocated", "used"};
constexpr std::array<std::string_view, 2> kRanks{"fullest", "first_stage"};

std::optional<double> read_share(const Place& place) {
  if (!place.present()) { return std::nullopt; }
  return read_real(place, kShare);
}

Bounds read_bounds(const Place& place) {
  if (!place.present()) { return {}; }
  Reader in(place);
  Bounds bounds{.step = read_share(in.take("step")),
                .bias = read_share(in.take("bias")),
                .memory = read_share(in.take("memory")),
                .verdicts = read_share(in.take("verdicts")),
                .coverage = read_share(in.take("coverage"))};
  in.finish();
  return bounds;
}

/// The figure that `in` states, with its value.
void read_figure(Reader& in, const Place& whole, Measured& measured) {
  struct Kind {
    std::string_view key;
    Figure figure;
    std::optional<Dimension> dimension;  // none: a number
  };
  static constexpr std::array kKinds{
      Kind{"step", Figure::step, Dimension::time},
      Kind{"tokens_per_second", Figure::tokens_per_second, {}},
      Kind{"tokens_per_second_per_device", Figure::tokens_per_second_per_device, {}},
      Kind{"samples_per_second", Figure::samples_per_second, {}},
      Kind{"model_flops", Figure::model_flops, Dimension::compute},
      Kind{"recomputed_flops", Figure::recomputed_flops, Dimension::compute},
      Kind{"bus_bandwidth", Figure::bus_bandwidth, Dimension::rate}};
  std::optional<Dimension> dimension;
  for (const Kind& kind : kKinds) {
    const Place place = in.take(kind.key);
    if (!place.present()) { continue; }
    if (measured.figure != Figure::none) { whole.fail("two figures of speed", "one"); }
    measured.figure = kind.figure;
    dimension = kind.dimension;
    measured.value = dimension ? read_quantity(place, *dimension) : read_real(place, kRate);
  }
  const Place resolution = in.take("resolution");
  if (resolution.present()) {
    measured.resolution =
        dimension ? read_quantity(resolution, *dimension) : read_real(resolution, kRate);
  }
}

Measured read_measured(const Place& place) {
  Measured measured;
  Reader in(place);
  read_figure(in, place, measured);
  const Place memory = in.take("memory");
  if (memory.present()) {
    measured.memory = Bytes{static_cast<std::int64_t>(read_quantity(memory, Dimension::size))};
  }
  measured.reading =
      static_cast<validate::MemoryReading>(read_choice(in.take("memory_is"), kReadings, 0));
  measured.first_stage = read_choice(in.take("memory_of"), kRanks, 0) == 1;
  const Place fits = in.take("fits");
  if (fits.present()) { measured.fits = read_flag(fits); }
  in.finish();
  if (measured.figure == Figure::none && !measured.memory && !measured.fits) {
    place.fail("nothing that was measured",
               "a figure of speed, " + in_quotes("memory") + " or " + in_quotes("fits"));
  }
  return measured;
}

Row read_row(const Place& place, const RowTemplates& templates) {
  Reader in(place);
  Row row;
  row.id = read_text(in.take("id"));
  row.note = read_text(in.take("note"), "");
  row.needs = read_text(in.take("needs"), "");
  row.weak = read_flag(in.take("weak"), false);
  row.fitted = read_flag(in.take("fitted"), false);
  row.measured = read_measured(in.take("measured"));
  const Place like = in.take("like"), set = in.take("set"), open = in.take("open");
  in.finish();
  row.choices = row_choices(templates, like, set, open);
  row.collective = !row.choices.empty() && templates.base.contains("collective");
  return row;
}

std::vector<Row> read_rows(const Place& place, const RowTemplates& templates) {
  const std::vector<Place> entries = read_entries(place);
  std::vector<Row> rows;
  rows.reserve(entries.size());
  std::set<std::string> ids;
  for (const Place& entry : entries) {
    rows.push_back(read_row(entry, templates));
    if (!ids.insert(rows.back().id).second) {
      entry.fail("a second row " + in_quotes(rows.back().id), "ids that differ");
    }
  }
  if (place.present() && entries.empty()) { place.fail("no rows", "one at least"); }
  return rows;
}

validate::Source read_source(const Json& document, const fs::path& file, Problems& problems) {
  const Source origin{.problems = &problems};
  Reader in(Place{&document, "", &origin});
  validate::Source source{.name = file.stem().string(), .file = file};
  source.title = read_text(in.take("title"));
  source.citation = read_text(in.take("citation"));
  for (const Place& note : read_entries(in.take("notes"))) {
    source.notes.push_back(read_text(note));
  }
  source.goal = read_bounds(in.take("goal"));
  source.promise = read_bounds(in.take("promise"));
  const RowTemplates templates = read_templates(in.take("scenario"), in.take("groups"));
  const Place rows = in.take("rows");
  if (!rows.present()) { rows.fail("nothing", "a list of rows"); }
  source.rows = read_rows(rows, templates);
  in.finish();
  return source;
}

}  // namespace

std::vector<std::string> truth_names() { return names_in("truth", fs::path()); }

validate::Source read_truth_text(std::string_view text, const fs::path& file) {
  Problems problems;
  validate::Source source;
  const std::optional<Json> document = parse_json(text, "", problems);
  if (document) { source = read_source(*document, file, problems); }
  if (!problems.empty()) { throw InputErrors(file.string(), problems.errors()); }
  return source;
}

validate::Source read_truth(const std::string& name_or_path) {
  const bool is_path = looks_like_path(name_or_path);
  const std::optional<fs::path> path =
      is_path ? find_path(name_or_path, fs::path()) : find_named(name_or_path, "truth", fs::path());
  if (!path) {
    const std::vector<std::string> names = truth_names();
    const std::vector<std::string_view> views(names.begin(), names.end());
    throw InputErrors("tsim validate",
                      {{.path = "SOURCE",
                        .found = in_quotes(name_or_path),
                        .expected = (is_path ? "a file or one of " : "one of ") + join(views),
                        .hint = is_path ? "no such file" : did_you_mean(name_or_path, views)}});
  }
  std::string why;
  const std::optional<std::string> text = file_text(*path, why);
  if (!text) { throw InputErrors(path->string(), {{.path = {}, .found = why}}); }
  return read_truth_text(*text, *path);
}

}  // namespace tsim::sim
