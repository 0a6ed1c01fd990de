#include "sim/input/import/write_import.hpp"

#include "sim/input/write_cluster.hpp"

namespace tsim::sim {

std::string cluster_text(const ImportedCluster& imported, const std::string& source) {
  Json json = std::visit([](const auto& cluster) { return to_json(cluster); }, imported.cluster);
  std::string text = imported.format + ": " + imported.summary;
  for (const std::string& assumption : imported.assumptions) { text += "; " + assumption; }
  json["description"] = text;
  json["source"] = source;
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tsim::sim
