#include "sim/input/read_model.hpp"

#include <algorithm>

#include "models/registry.hpp"
#include "sim/input/data_files.hpp"
#include "sim/input/models/read_hf_config.hpp"
#include "sim/input/models/read_model_fields.hpp"
#include "sim/input/suggest.hpp"

namespace tsim::sim {
namespace fs = std::filesystem;
namespace {

using models::ModelConfig;

/// Tells what the model's own rules object to, unless the key was a problem already. A sequence
/// that only the workload will tell is not missed.
void check_model(ModelConfig model, const Place& place, const Problems& before) {
  model.sequence = std::max<std::int64_t>(1, model.sequence);
  if (model.positions == models::Positions::learned && model.max_positions == 0) {
    model.max_positions = model.sequence;
  }
  for (const models::ConfigProblem& problem : models::problems(model)) {
    const std::string path = place.path + "/" + problem.key;
    const auto& told = before.errors();
    const bool known = std::any_of(told.begin(), told.end(), [&](const InputError& e) {
      return e.path == path && e.file == place.source->file;
    });
    if (!known) {
      place.source->problems->add({.path = path,
                                   .found = problem.found,
                                   .expected = problem.expected,
                                   .hint = problem.hint,
                                   .file = place.source->file});
    }
  }
}

ModelConfig read_file(const fs::path& path, Problems& problems) {
  const std::optional<Json> document = read_json_file(path, problems);
  if (!document) { return {}; }
  const bool inline_format = document->is_object() && document->contains("family");
  const Source source{
      .problems = &problems, .file = path.string(), .null_is_absent = !inline_format};
  const std::size_t before = problems.errors().size();
  ModelConfig model;
  if (inline_format) {
    Reader in(Place{&*document, "", &source});
    model = read_model_fields(in, nullptr);
    in.finish();
  } else {
    model = read_hf_config(*document, source);
  }
  if (problems.errors().size() == before) { check_model(model, {nullptr, "", &source}, problems); }
  return model;
}

/// `x` of x.json and of x.config.json; the folder's name of a bare config.json.
std::string model_name(const fs::path& path) {
  std::string name = path.stem().string();
  if (name == "config" && path.has_parent_path()) { name = path.parent_path().filename().string(); }
  const std::string ending = ".config";
  if (name.ends_with(ending)) { name.resize(name.size() - ending.size()); }
  return name;
}

std::vector<std::string_view> registry_names() {
  std::vector<std::string_view> names;
  for (const ModelConfig& model : models::registry()) { names.push_back(model.name); }
  return names;
}

ModelConfig read_by_text(const Place& place, const fs::path& folder) {
  const std::string written = read_text(place);
  if (written.empty()) { return {}; }
  if (const std::optional<ModelConfig> named = models::model_named(written)) { return *named; }
  std::optional<fs::path> path = find_path(written, folder);
  std::error_code error;
  if (path && fs::is_directory(*path, error)) { path = find_path("config.json", *path); }
  if (path) {
    ModelConfig model = read_file(*path, *place.source->problems);
    if (model.name.empty()) { model.name = model_name(*path); }
    if (model.source.empty()) { model.source = path->string(); }
    return model;
  }
  const std::vector<std::string_view> names = registry_names();
  if (looks_like_path(written)) {
    place.fail(in_quotes(written), "the path of a Hugging Face config.json", "no such file");
  } else {
    place.fail(in_quotes(written), "a model's name (tsim models lists them) or the path of a file",
               did_you_mean(written, names));
  }
  return {};
}

ModelConfig read_changed(Reader& in, const Place& base, const fs::path& folder) {
  const Problems& problems = *in.source().problems;
  const std::size_t before = problems.errors().size();
  const ModelConfig start = read_by_text(base, folder);
  if (problems.errors().size() != before) { return {}; }
  return read_model_fields(in, &start);
}

}  // namespace

ModelConfig read_model(const Place& place, const fs::path& scenario_folder) {
  if (!place.present() || !(place.value->is_string() || place.value->is_object())) {
    place.fail(place.found(),
               "a model's name, the path of a Hugging Face config.json, or an object");
    return {};
  }
  if (place.value->is_string()) { return read_by_text(place, scenario_folder); }
  const Problems& problems = *place.source->problems;
  const std::size_t before = problems.errors().size();
  Reader in(place);
  const Place base = in.take("base");
  ModelConfig model =
      base.present() ? read_changed(in, base, scenario_folder) : read_model_fields(in, nullptr);
  const bool base_failed =
      base.present() && problems.errors().size() != before && model.layers == 0;
  if (base_failed) { return model; }
  in.finish();
  if (problems.errors().size() == before) { check_model(model, place, problems); }
  return model;
}

ModelConfig read_model(std::string_view name_or_path) {
  Problems problems;
  const Source source{.problems = &problems};
  const Json text = std::string(name_or_path);
  ModelConfig model = read_model(Place{&text, "", &source}, fs::path());
  if (!problems.empty()) { throw InputErrors(std::string(name_or_path), problems.errors()); }
  return model;
}

}  // namespace tsim::sim
