#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stoker {

// What a run's configuration says that only its components can tell, so that a verdict needs none
// of them (plan_of() of io/experiment makes it; "plan" in the record). A value.
struct RunPlan {
  // The loader has complete batches before they are asked for; and it has them on the device.
  bool works_ahead = true;
  bool copies_ahead = false;
  // False: the trainer's own thread reads and decodes.
  bool has_workers = true;
  // The tier that the data set names. Empty: it reads none.
  std::string tier;
  // The tier keeps copies of another tier's objects.
  bool keeps_copies = false;
  // The tier that reads end at: the one behind the copies, where there are some; and its type.
  std::string source;
  std::string source_type;
  // What that tier can do at most. Known only for an emulated one.
  std::optional<double> source_mb_per_s;
  // There is a checkpointer; the tiers that it writes to, first to last; its snapshot mode.
  bool saves = true;
  std::vector<std::string> written;
  std::string snapshot;
};

}  // namespace stoker
