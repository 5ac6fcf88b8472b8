#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "app/experiment/experiment_options.h"
#include "io/dataset/dataset.h"
#include "io/loader/loader.h"
#include "io/profiler/profile.h"
#include "io/storage/storage.h"

namespace stoker {

// How an object is read, over a whole run. Expectations, so they need not be whole. A value.
struct ReadPattern {
  double opens = 0;     // times that it was found anew
  double requests = 0;  // operations of the tier, those of no bytes included
  double seeks = 0;     // those reads that do not go on where the one before ended
  double bytes_read = 0;
  ReadPattern& operator+=(const ReadPattern& more);
};

// An object that may be staged. A value.
struct ObjectUse : ReadPattern {
  std::string key;
  uint64_t bytes = 0;  // what a copy takes
  int64_t first = -1;  // place of its first read in the run; below 0: it is not read
};

// The reads that an I/O profile saw, by the key of the object. Objects that are not in it were not
// read.
using SeenReads = std::unordered_map<std::string, ReadPattern>;

// Replaces what the configuration says by what was seen, for every object. The order of first reads
// stays. times: what was seen is multiplied by this (3 if one of three epochs was seen).
void use_seen(const SeenReads& seen, double times, std::vector<ObjectUse>& uses);

// What the counters of the module POSIX say about the files below `root`, by their path in it,
// which is their key in a tier with that root. A read that is not consecutive counts as a seek.
// With n readers, a consecutive one counts as (n - 1) / n of a seek, because reads of others come
// between. Pure; any thread.
SeenReads seen_reads(const IoProfile& profile, const std::string& root, int64_t readers);

// Names the reads about which I/O profiles are asked. A value.
struct SeenTier {
  std::string name;  // under storage:
  std::string root;  // root of its files, as a path of this process
  int64_t readers = 1;
  int64_t epoch_steps = 1;  // steps of an epoch, or of a run that is shorter
};

// What the sessions of a run, or a log, saw of the reads of a tier. A value.
struct SeenProfile {
  SeenReads reads;
  int64_t logs = 0;
  // Steps that the sessions of each rank saw. 0: the log does not say it, and is taken to be of a
  // whole run.
  double steps = 0;
};

// `where`: the directory of a run that kept I/O profiles, or any log of Darshan's. It is an error
// if objects could seem unread because the profiler did not look: Error(ExitCode::config) if it has
// seen less than one whole epoch or no read of the tier, if files are missing in it, or if the run
// read copies; ExitCode::environment if there is no such log; ExitCode::data if one cannot be read.
// Any thread.
SeenProfile seen_profile(const std::string& where, const SeenTier& tier);

struct LoaderOptions;

// The options of a loader, whatever its type: all loaders have them.
LoaderOptions loader_options(const Component<Loader>& loader);

// How often a run goes through its data, as its configuration says. A value.
struct PassCounts {
  double epochs = 0;  // epochs of training; max_steps may cut the last one
  int64_t evaluations = 0;
};
PassCounts passes_of(const ExperimentOptions& options, int64_t steps_per_epoch);

// What the run of this configuration reads of each object of the listing, in the listing's order:
// the sampler says which samples, and the tier how a whole object is read
// (StorageInfo::read_piece). readers: threads that read, whose requests get between one another's
// pieces. Objects that hold no sample are there, unread. Error as the sampler's. Any thread.
std::vector<ObjectUse> configured_uses(const ExperimentOptions& options, const Dataset& dataset,
                                       const std::vector<ObjectInfo>& listing, uint64_t read_piece,
                                       int64_t readers);

}  // namespace stoker
