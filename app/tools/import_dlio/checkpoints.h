#pragma once

#include <string>
#include <vector>

#include "app/tools/import_dlio/workload.h"

namespace stoker {

// The command line of `stoker bench checkpoint` that saves and loads the states of the workload's
// model, as many as it says. Empty: the model is none that it knows. What is otherwise than in DLIO
// is added to `remarks`. Pure; any thread.
std::string checkpoint_command(const DlioWorkload& workload, std::vector<std::string>& remarks);

}  // namespace stoker
