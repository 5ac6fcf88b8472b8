#pragma once

#include <string>
#include <vector>

#include "app/tools/import_dlio/workload.h"
#include "app/tools/report/run_files.h"
#include "io/core/error.h"

namespace stoker {

// The accelerator's utilisation as DLIO computes it (utils/statscounter.py: compute_metrics_train),
// of each epoch: the seconds of computing of all steps but the first ones (and, from DLIO 3 on, the
// last ones) that the workload excludes, divided by the time from the end of the first of these to
// the end of the epoch. Of the rows of a run's steps.csv, one for each step.
// Error(ExitCode::config) where a row holds several steps; epochs of fewer than two steps are left
// out.
std::vector<double> dlio_au(const DlioWorkload& workload, const Table& steps);

// Prints that of a run beside the workload's target and the run's own idle time, and what DLIO does
// not say: which resource bounded it, and what was cold. Fails as read_run().
ExitCode print_au(const DlioWorkload& workload, const std::string& run, bool json);

}  // namespace stoker
