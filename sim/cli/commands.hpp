// The subcommands. Each writes its whole answer to `out`, remarks to `err`, and returns the exit
// status; wrong input is thrown as sim::InputErrors.
#pragma once

#include <iosfwd>

#include "sim/cli/options.hpp"

namespace tsim::cli {

/// Status of a run that has no answer: does not fit, is stuck, or cannot be written.
inline constexpr int kNoAnswer = 1;
/// Status of wrong input: flags, files, scenarios.
inline constexpr int kWrongInput = 2;

int run_command(const RunOptions& options, std::ostream& out, std::ostream& err);
int models_command(const ModelsOptions& options, std::ostream& out, std::ostream& err);
int devices_command(const DevicesOptions& options, std::ostream& out, std::ostream& err);
int explain_command(const ExplainOptions& options, std::ostream& out, std::ostream& err);
int topo_command(const TopoOptions& options, std::ostream& out, std::ostream& err);

int net_command(const NetOptions& options, std::ostream& out, std::ostream& err);

int jobs_command(const JobsOptions& options, std::ostream& out, std::ostream& err);
int import_command(const ImportOptions& options, std::ostream& out, std::ostream& err);
int calibrate_command(const CalibrateOptions& options, std::ostream& out, std::ostream& err);
int fit_command(const FitOptions& options, std::ostream& out, std::ostream& err);
int validate_command(const ValidateOptions& options, std::ostream& out, std::ostream& err);
int advise_command(const AdviseOptions& options, std::ostream& out, std::ostream& err);
int sweep_command(const SweepOptions& options, std::ostream& out, std::ostream& err);
int synthesise_command(const SynthesiseOptions& options, std::ostream& out, std::ostream& err);

}  // namespace tsim::cli
