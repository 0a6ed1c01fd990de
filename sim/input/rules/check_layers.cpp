// Rules of the layers that each stage, or each chunk of one, gets.
#include <algorithm>
#include <numeric>

#include "sim/input/rules/check.hpp"
#include "sim/input/rules/check_scenario.hpp"
#include "sim/input/rules/divisors.hpp"
#include "strategies/deal.hpp"
#include "strategies/schedule.hpp"

namespace tsim::sim {

using models::Family;
using strategies::Strategy;

namespace {

void check_layer_list(const Check& check, std::int64_t layers, std::int64_t parts) {
  const Strategy& s = check.scenario.strategy;
  const auto entries = static_cast<std::int64_t>(s.layers_per_stage.size());
  if (entries != parts) {
    check.fail("/strategy/layers", text(entries) + (entries == 1 ? " entry" : " entries"),
               text(parts) + (parts > s.pipeline ? " (pipeline*chunks), one for each chunk"
                                                 : " (/strategy/pipeline), one for each stage"));
  }
  const std::int64_t sum =
      std::accumulate(s.layers_per_stage.begin(), s.layers_per_stage.end(), std::int64_t{0});
  if (sum != layers) {
    check.fail("/strategy/layers", "layers that sum to " + text(sum),
               text(layers) + " (layers of the model)", "for example " + even_list(layers, parts));
  }
}

/// Embedding and head are dealt like layers, evenly.
void check_even_ends(const Check& check, std::int64_t layers, std::int64_t parts,
                     std::string_view what) {
  const std::int64_t dealt = layers + strategies::kEnds;
  if (parts > dealt) {
    check.fail("/strategy/pipeline", text(parts) + " " + std::string(what),
               "at most " + text(dealt) + " (layers of the model, embedding and head)");
  } else if (check.scenario.strategy.encoder_stages > 0 || parts == 1) {
    check.fail("/strategy/layers", R"("even_with_ends")", "stages that share one stack of layers",
               R"("even" or "balanced")");
  } else if (dealt % parts != 0) {
    check.fail("/strategy/layers",
               R"("even_with_ends" for )" + text(layers) + " layers and 2 ends on " + text(parts) +
                   " " + std::string(what),
               std::string(what) + " that divide them (" + text(dealt) + " % " + text(parts) +
                   " = " + text(dealt % parts) + ")",
               R"("balanced", or a list of layers)");
  }
}

}  // namespace

void check_layers(const Check& check) {
  if (!check.clean({"/model", "/strategy/pipeline", "/strategy/chunks", "/strategy/layers"})) {
    return;
  }
  const Strategy& s = check.scenario.strategy;
  const std::int64_t layers = layer_count(check.scenario.model);
  const std::int64_t parts = part_count(strategies::shape_of(s, 1));
  const char* const what = parts > s.pipeline ? " chunks" : " stages";
  if (s.split == strategies::LayerSplit::even_with_ends) {
    check_even_ends(check, layers, parts, what + 1);
  } else if (parts > layers) {
    check.fail("/strategy/pipeline", text(parts) + what,
               "at most " + text(layers) + " (layers of the model)");
  } else if (s.split == strategies::LayerSplit::fitting && parts > s.pipeline) {
    check.fail("/strategy/layers", "\"fitting\" with " + text(s.chunks) + " chunks a stage",
               "one chunk a stage", "layers = \"balanced\"");
  } else if (s.split == strategies::LayerSplit::list) {
    check_layer_list(check, layers, parts);
  } else if (s.split == strategies::LayerSplit::even && s.encoder_stages == 0 &&
             layers % parts != 0) {
    check.fail("/strategy/layers",
               "\"even\" for " + text(layers) + " layers on " + text(parts) + what,
               std::string(what + 1) + " that divide the layers (" + text(layers) + " % " +
                   text(parts) + " = " + text(layers % parts) + ")",
               "\"balanced\", or a list such as " + even_list(layers, parts));
  }
}

void check_encoder_stages(const Check& check) {
  const Scenario& s = check.scenario;
  const std::int64_t n = s.strategy.encoder_stages;
  if (n == 0 || !check.clean({"/model", "/strategy"})) { return; }
  const std::int64_t parts = part_count(strategies::shape_of(s.strategy, 1));
  const std::int64_t most = std::min<std::int64_t>(parts - 1, s.model.layers);
  const std::int64_t least = std::max<std::int64_t>(1, parts - s.model.decoder_layers);
  const bool even = s.strategy.split == strategies::LayerSplit::even;
  if (s.model.family != Family::encoder_decoder) {
    check.fail("/strategy/encoder_stages", text(n), "nothing, as the model is no encoder-decoder");
  } else if (s.strategy.split == strategies::LayerSplit::list) {
    check.fail("/strategy/encoder_stages", text(n), "nothing with a list of layers");
  } else if (n < least || n > most) {
    check.fail("/strategy/encoder_stages", text(n),
               "from " + text(least) + " to " + text(most) + " of " + text(parts) + " stages");
  } else if (even && (s.model.layers % n != 0 || s.model.decoder_layers % (parts - n) != 0)) {
    check.fail("/strategy/encoder_stages", text(n),
               "stages that divide the " + text(s.model.layers) + " encoder layers, and others " +
                   "that divide the " + text(s.model.decoder_layers) + " decoder layers",
               "layers = \"balanced\"");
  }
}

}  // namespace tsim::sim
