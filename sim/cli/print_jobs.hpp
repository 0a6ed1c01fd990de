// What `jobs` prints.
#pragma once

#include <iosfwd>
#include <vector>

#include "sim/jobs.hpp"

namespace tsim::cli {

void print_jobs_text(const cost::Cluster& cluster, const std::vector<sim::Job>& jobs,
                     const sim::JobsReport& report, std::ostream& out);
void print_jobs_json(const std::vector<sim::Job>& jobs, const sim::JobsReport& report,
                     std::ostream& out);

}  // namespace tsim::cli
