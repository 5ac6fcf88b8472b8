#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/experiment/experiment_options.h"
#include "io/core/config/node.h"
#include "io/core/sample_spec.h"

// How the data could come: from where, in which order, kept in what form. What loaders do with them
// is another question (candidates.h). Reads nothing but the data set's listing. One thread.

namespace stoker {

// What is known of an experiment's data before anything is read. A value.
struct TuneData {
  int64_t samples = 0;
  uint64_t bytes = 0;  // of all training samples, encoded
  // Of one decoded sample in a batch.
  uint64_t pixel_bytes = 0;
  SampleSpec spec;
  // Samples share files, so that their order decides what is read in one piece.
  bool shared_files = false;
};
// Opens the data set. Throws its Error.
TuneData look_at_data(const ExperimentOptions& experiment);

// A value.
struct TuneWay {
  std::string name;
  std::vector<std::string> overrides;
  // How results differ from those of the experiment as it was. Empty: they do not.
  std::string changes;
  // What it keeps is complete from this epoch on.
  int64_t from_epoch = 0;
  uint64_t kept_bytes = 0;
  // No tier is read any more; nothing is decoded any more.
  bool no_tier = false, no_decoding = false;
};

struct TuneWayOptions {
  // The experiment as its file says it, with its overrides: what nobody wrote is left out.
  Node written;
  // Each is a list of overrides, "dataset.type=lmdb dataset.path=x": data of another form or place.
  std::vector<std::string> alternatives;
  // Only ways that change no result.
  bool same_results = false;
  // The most bytes that may be kept in memory.
  uint64_t memory = 0;
};

// The first is the experiment as it is. Then, where they are possible: copies of the encoded files
// in memory, decoded samples in memory, other tiers of the configuration that hold the same data,
// other orders, and the alternatives. advice: gets a line for each that was left out for a reason
// that somebody can change. Error(ExitCode::config) for an alternative that is none.
std::vector<TuneWay> ways_of(const ExperimentOptions& experiment, const TuneData& data,
                             const TuneWayOptions& options, std::vector<std::string>& advice);

// "a.b=c d=e" as words; blanks within {}, [] and quotes do not part them.
std::vector<std::string> words_of_overrides(const std::string& text);

}  // namespace stoker
