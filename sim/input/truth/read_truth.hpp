// Files of published and measured rows.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/net/net_run.hpp"
#include "sim/validate/truth.hpp"

namespace tsim::sim {

/// Names of the sources that come with tsim, sorted.
std::vector<std::string> truth_names();

/// The source called `name`, or in the file at that path. Throws InputErrors with everything that
/// is wrong with the file; whether a row's scenario is one is found out when it runs.
validate::Source read_truth(const std::string& name_or_path);

/// The same from text.
validate::Source read_truth_text(std::string_view text, const std::filesystem::path& file);

/// What stands in for devices, by name: a name, a path, or a JSON object as in a scenario.
using StandIns = std::map<std::string, std::string>;

/// `document` with its /cluster/device replaced where something stands in for it.
std::string with_stand_ins(const std::string& document, const StandIns& stand_ins);

/// A collective on a cluster, as a row states it.
struct TruthCollective {
  cost::Cluster cluster;
  NetRequest request;
  Bytes size;
};

/// Throws InputErrors.
TruthCollective read_truth_collective(const std::string& document,
                                      const std::filesystem::path& file);

}  // namespace tsim::sim
