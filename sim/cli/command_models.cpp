#include <ostream>

#include "models/registry.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/print_models.hpp"

namespace tsim::cli {

int models_command(const ModelsOptions& options, std::ostream& out, std::ostream&) {
  if (options.names_only) {
    for (const models::ModelConfig& model : models::registry()) { out << model.name << '\n'; }
  } else if (options.json) {
    print_models_json(models::registry(), out);
  } else {
    print_models_text(models::registry(), out);
  }
  return 0;
}

}  // namespace tsim::cli
