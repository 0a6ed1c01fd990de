#include <algorithm>
#include <array>
#include <ostream>
#include <utility>

#include "models/dtype.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/print_explain.hpp"
#include "sim/input/read_device.hpp"
#include "sim/input/read_model.hpp"

namespace tsim::cli {
namespace {

/// The fusion called `name`, which the command line has checked.
models::Fusion fusion_named(std::string_view name) {
  using models::Fusion;
  constexpr std::array kAll{Fusion::none, Fusion::framework, Fusion::full};
  return *std::find_if(kAll.begin(), kAll.end() - 1,
                       [&](Fusion f) { return models::name_of(f) == name; });
}

}  // namespace

int explain_command(const ExplainOptions& options, std::ostream& out, std::ostream&) {
  Explained explained{
      .config = sim::read_model(options.model),
      .options = {.micro_batch = options.micro_batch,
                  .sequence = options.sequence,
                  .compute = models::dtype_named(options.dtype).value_or(models::DType::fp16),
                  .flash_attention = options.flash_attention,
                  .dropout = !options.no_dropout},
      .fusion = fusion_named(options.fusion)};
  if (!options.device.empty()) { explained.device = sim::read_device(options.device); }
  const models::Model model = models::build_model(explained.config, explained.options);
  explained.tokens = models::tokens_per_sample(model);
  explained.explanation = models::explain(model, explained.fusion);
  (options.json ? print_explain_json : print_explain_text)(explained, out);
  return 0;
}

}  // namespace tsim::cli
