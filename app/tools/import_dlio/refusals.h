#pragma once

#include "app/tools/import_dlio/workload.h"

namespace stoker {

// Error(ExitCode::config), which names the key and says what to do, where the data of the workload
// are in a form that no data set here reads. Pure; any thread.
void refuse_format(const DlioWorkload& workload);

}  // namespace stoker
