#pragma once

#include "app/experiment/experiment.h"

namespace stoker {

// Brings the page cache into the state that run.page_cache asks for, before anything is read:
// cold evicts every file of the data set (and where run.drop_caches is on and the kernel allows it,
// everything), warm reads them all. Never fails a run: whether it came to be is what CacheWatch
// sees afterwards. `notify` gets what could not be done.
void set_up_page_cache(Experiment& experiment, const Notify& notify);

// The files of the tier that the data set names; null where there is none, or it keeps no files.
const FileTree* data_files(Experiment& experiment);

}  // namespace stoker
