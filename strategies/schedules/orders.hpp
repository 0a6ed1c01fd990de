// The order functions of the schedule registry, one file each.
#pragma once

#include "strategies/schedule.hpp"

namespace tsim::strategies {

StageOrder naive(const PipelineShape& shape, int stage);
StageOrder gpipe(const PipelineShape& shape, int stage);
StageOrder one_f_one_b(const PipelineShape& shape, int stage);
StageOrder interleaved(const PipelineShape& shape, int stage);

}  // namespace tsim::strategies
