#include "sim/cli/options/parts.hpp"

#include <algorithm>
#include <charconv>

#include "sim/input/suggest.hpp"

namespace tsim::cli {
namespace {

constexpr std::int64_t kMostCount = 1'000'000'000;

}  // namespace

CLI::Validator count_from(std::int64_t least) {
  const auto check = [least](const std::string& text) -> std::string {
    std::int64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, failure] = std::from_chars(text.data(), end, value);
    if (failure == std::errc{} && stop == end && value >= least && value <= kMostCount) {
      return {};
    }
    return "found " + sim::in_quotes(text) + ", expected a whole number from " +
           std::to_string(least) + " to " + std::to_string(kMostCount);
  };
  return {check, "", "count"};
}

CLI::Validator one_of(std::vector<std::string_view> names) {
  const auto check = [names = std::move(names)](const std::string& text) -> std::string {
    if (std::find(names.begin(), names.end(), text) != names.end()) { return {}; }
    const std::string hint = sim::did_you_mean(text, names);
    return "found " + sim::in_quotes(text) + ", expected one of " + sim::join(names) +
           (hint.empty() ? "" : "; hint: " + hint);
  };
  return {check, "", "choice"};
}

CLI::Validator setting() {
  const auto check = [](const std::string& text) -> std::string {
    if (text.starts_with('/') && text.find('=') > 1 && text.find('=') != std::string::npos) {
      return {};
    }
    return "found " + sim::in_quotes(text) +
           ", expected /json/pointer=value, such as /strategy/data=4";
  };
  return {check, "", "setting"};
}

std::vector<Setting> split_settings(const std::vector<std::string>& texts) {
  std::vector<Setting> settings;
  settings.reserve(texts.size());
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    settings.push_back({.pointer = text.substr(0, equals), .value = text.substr(equals + 1)});
  }
  return settings;
}

void add_json(CLI::App& command, bool& json) {
  command.add_flag("--json", json, "Print JSON instead of text");
}

void add_settings(CLI::App& command, std::vector<std::string>& settings,
                  const std::string& of_what) {
  command
      .add_option("--set", settings,
                  "Change one value of the " + of_what + "; may be given more than once")
      ->check(setting())
      ->allow_extra_args(false)
      ->type_name("/json/pointer=value");
}

}  // namespace tsim::cli
