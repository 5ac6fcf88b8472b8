#pragma once

#include <memory>
#include <string>
#include <vector>

#include "io/checkpoint/checkpoint_options.h"
#include "io/checkpoint/checkpointer.h"
#include "io/checkpoint/sets/set_store.h"

namespace stoker {

// fast: sets are written to the fast tier and drained to the slow one. slow: they are written to
// the slow one at once.
enum class WriteTo { fast, slow };

// The sets of a run on each tier that its options name: also on the fast one where nothing is
// written to it, so that a run may go on with the other checkpointer. Any thread.
class SaveTiers {
 public:
  // Touches no tier. What `inputs` refers to must outlive it. warn: is called from any thread.
  // Error(ExitCode::config) where the fast tier of many ranks keeps no files.
  SaveTiers(const CheckpointOptions& options, const Checkpointer::Inputs& inputs, WriteTo write_to,
            const Notify& warn);

  // The one that a save waits for, and the one where sets stay; one and the same without a drain.
  SetStore& first() const { return drains() ? *stores_.front() : *stores_.back(); }
  SetStore& last() const { return *stores_.back(); }
  bool drains() const { return write_to_ == WriteTo::fast; }
  // The fast tier's comes first, where there is one.
  const std::vector<std::unique_ptr<SetStore>>& stores() const { return stores_; }
  // Below each tier's root. On a tier that each rank has for itself, the ranks' own ones lie in it.
  const std::string& directory() const { return directory_; }

 private:
  const WriteTo write_to_;
  const std::string directory_;
  std::vector<std::unique_ptr<SetStore>> stores_;
};

}  // namespace stoker
