#pragma once

#include <map>
#include <string>
#include <vector>

#include "io/checkpoint/checkpointer.h"
#include "io/experiment/data_options.h"

namespace stoker {

// The tiers by name, as `storage:` has them.
using TierOptions = std::map<std::string, Component<Storage>>;

// The part of an experiment that saves, for programs that train by other means. Values: reading
// them opens nothing.
struct SavingOptions {
  RunOptions run;
  // Loaded already.
  std::vector<Path> plugins;
  TierOptions storage;
  // Never `none`.
  Component<Checkpointer> checkpoint = default_component<Checkpointer>("direct");
  template <class V>
  void visit(V& v) {
    v("run", run, "The name and place of the run.");
    v("plugins", plugins, "Absolute paths of plug-ins.");
    v("storage", storage, "The storage tiers by name.");
    v("checkpoint", checkpoint, "How the state is saved, and where to.");
  }
};

// Reads this part of an experiment's tree with its overrides; the other sections are not looked at.
// Error(ExitCode::config) as read_data_options(), and where nothing would be saved.
SavingOptions read_saving_options(Node root, const std::vector<std::string>& overrides,
                                  const Notify& note = {});

// Adds the tiers that the checkpointer has by default, and nobody defined. They lie beside the
// directories of the runs, so that the next run finds what this one saved.
void add_checkpoint_tiers(const Component<Checkpointer>& checkpoint, const RunOptions& run,
                          TierOptions& storage);
// Checkpoints outlive the process, or they are of no use. Error(ExitCode::config) at its place in
// `root`.
void check_checkpoint_tiers(const Component<Checkpointer>& checkpoint, const TierOptions& storage,
                            const Section& root);

}  // namespace stoker
