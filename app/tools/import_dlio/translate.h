#pragma once

#include <string>
#include <vector>

#include "app/tools/import_dlio/workload.h"
#include "io/core/config/node.h"

namespace stoker {

// What a workload of DLIO is as an experiment. A value.
struct DlioTranslation {
  // Empty mapping: the workload trains nothing.
  Node experiment = Node::map();
  // The command that measures its checkpoints; empty: it has none that can be measured.
  std::string checkpoints;
  // What is otherwise than in DLIO, or left out: a line each, which begins with the key.
  std::vector<std::string> remarks;
};

// data: the folder that holds the files; empty: the one that the workload names.
// Error(ExitCode::config), by name and with the reason, for formats, tiers and models that cannot
// be translated at all. Pure; any thread.
DlioTranslation translate(const DlioWorkload& workload, const std::string& data);

// Rows and columns of the sample that DLIO hands to its training: the root of its bytes.
int64_t sample_side(const DlioWorkload& workload);

// The command line of `stoker bench checkpoint` that saves and loads the states of the workload's
// model, as many as it says. Empty: the model is none that it knows. What is otherwise than in DLIO
// is added to `remarks`. Pure; any thread.
std::string checkpoint_command(const DlioWorkload& workload, std::vector<std::string>& remarks);

// Error(ExitCode::config), which names the key and says what to do, where the data of the workload
// are in a form that no data set here reads. Pure; any thread.
void refuse_format(const DlioWorkload& workload);

}  // namespace stoker
