#include "sim/cli/print_models.hpp"

#include <ostream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "sim/cli/text_table.hpp"

namespace tsim::cli {
namespace {

/// "24", or "6+6" of an encoder-decoder.
std::string layers_text(const models::ModelConfig& model) {
  const std::string layers = std::to_string(model.layers);
  return model.family == models::Family::encoder_decoder
             ? layers + "+" + std::to_string(model.decoder_layers)
             : layers;
}

/// "8/256": the experts that a token goes to, of all.
std::string experts_text(const models::MoeConfig& moe) {
  return moe.experts == 0 ? "" : std::to_string(moe.top_k) + "/" + std::to_string(moe.experts);
}

std::string count_or_dash(std::int64_t count) { return count == 0 ? "-" : std::to_string(count); }

}  // namespace

void print_models_text(std::span<const models::ModelConfig> models, std::ostream& out) {
  const std::vector<Column> columns{{"name"},
                                    {"family"},
                                    {"layers", Align::right},
                                    {"hidden", Align::right},
                                    {"heads", Align::right},
                                    {"ffn", Align::right},
                                    {"vocabulary", Align::right},
                                    {"sequence", Align::right},
                                    {"experts", Align::right},
                                    {"parameters", Align::right},
                                    {"active", Align::right}};
  std::vector<std::vector<std::string>> rows;
  for (const models::ModelConfig& model : models) {
    rows.push_back(
        {model.name, std::string(models::name_of(model.family)), layers_text(model),
         std::to_string(model.hidden), std::to_string(model.heads), std::to_string(model.ffn),
         count_or_dash(model.vocab), count_or_dash(model.sequence), experts_text(model.moe),
         with_separators(models::parameters(model)),
         model.moe.experts > 0 ? with_separators(models::active_parameters(model)) : ""});
  }
  print_table(out, columns, rows);
}

void print_models_json(std::span<const models::ModelConfig> models, std::ostream& out) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const models::ModelConfig& model : models) {
    list.push_back({{"name", model.name},
                    {"family", models::name_of(model.family)},
                    {"layers", model.layers},
                    {"decoder_layers", model.decoder_layers},
                    {"hidden", model.hidden},
                    {"heads", model.heads},
                    {"kv_heads", model.kv_heads},
                    {"head_dim", model.head_dim},
                    {"ffn", model.ffn},
                    {"vocab", model.vocab},
                    {"sequence", model.sequence},
                    {"experts", model.moe.experts},
                    {"top_k", model.moe.experts > 0 ? model.moe.top_k : 0},
                    {"parameters", models::parameters(model)},
                    {"active_parameters", models::active_parameters(model)},
                    {"source", model.source}});
  }
  const nlohmann::ordered_json document{{"version", 1}, {"models", std::move(list)}};
  out << document.dump(2) << '\n';
}

}  // namespace tsim::cli
