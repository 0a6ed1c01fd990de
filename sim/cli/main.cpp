// The program `tsim`: one function for each subcommand, and one place that turns errors into exit
// statuses.
#include <exception>
#include <iostream>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include "sim/cli/commands.hpp"
#include "sim/cli/options.hpp"
#include "sim/input/input_error.hpp"

namespace tsim::cli {
namespace {

struct Dispatch {
  std::ostream& out;
  std::ostream& err;

  int operator()(const Message& message) const {
    (message.status == 0 ? out : err) << message.text;
    return message.status;
  }
  int operator()(const RunOptions& options) const { return run_command(options, out, err); }
  int operator()(const ModelsOptions& options) const { return models_command(options, out, err); }
  int operator()(const DevicesOptions& options) const { return devices_command(options, out, err); }
  int operator()(const ExplainOptions& options) const { return explain_command(options, out, err); }
  int operator()(const NetOptions& options) const { return net_command(options, out, err); }
  int operator()(const JobsOptions& options) const { return jobs_command(options, out, err); }
  int operator()(const TopoOptions& options) const { return topo_command(options, out, err); }
  int operator()(const ImportOptions& options) const { return import_command(options, out, err); }
  int operator()(const CalibrateOptions& options) const {
    return calibrate_command(options, out, err);
  }
  int operator()(const FitOptions& options) const { return fit_command(options, out, err); }
  int operator()(const ValidateOptions& options) const {
    return validate_command(options, out, err);
  }
  int operator()(const AdviseOptions& options) const { return advise_command(options, out, err); }
  int operator()(const SweepOptions& options) const { return sweep_command(options, out, err); }
  int operator()(const SynthesiseOptions& options) const {
    return synthesise_command(options, out, err);
  }
};

/// Prints the answer only when it is complete.
int run(const std::vector<std::string>& arguments) {
  std::ostringstream out;
  try {
    const int status = std::visit(Dispatch{out, std::cerr}, parse_options(arguments));
    std::cout << out.str() << std::flush;
    if (!std::cout) {
      std::cerr << "tsim: cannot write to the standard output\n";
      return kNoAnswer;
    }
    return status;
  } catch (const sim::InputErrors& errors) {
    std::cerr << errors.what() << '\n';
    return kWrongInput;
  } catch (const std::exception& error) {
    std::cerr << "tsim: " << error.what() << '\n';
    return kNoAnswer;
  }
}

}  // namespace
}  // namespace tsim::cli

int main(int argc, char** argv) {
  return tsim::cli::run(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
}
