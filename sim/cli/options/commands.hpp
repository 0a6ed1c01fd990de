// The subcommands' definitions, in the order of the help.
#pragma once

#include "sim/cli/options/parts.hpp"

namespace tsim::cli {

Added add_run(CLI::App& app);
Added add_models(CLI::App& app);
Added add_devices(CLI::App& app);
Added add_explain(CLI::App& app);
Added add_net(CLI::App& app);
Added add_jobs(CLI::App& app);
Added add_topo(CLI::App& app);
Added add_import(CLI::App& app);
Added add_synthesise(CLI::App& app);
Added add_calibrate(CLI::App& app);
Added add_validate(CLI::App& app);
Added add_sweep(CLI::App& app);
Added add_advise(CLI::App& app);
Added add_fit(CLI::App& app);

}  // namespace tsim::cli
