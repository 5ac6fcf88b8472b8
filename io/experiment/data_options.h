#pragma once

#include <map>
#include <string>
#include <vector>

#include "io/core/config/config.h"
#include "io/dataset/dataset.h"
#include "io/decoder/decoder.h"
#include "io/loader/loader.h"
#include "io/metrics/run_meter.h"
#include "io/storage/storage.h"

namespace stoker {

// The half of an experiment that loads data: what it needs is in the core. The other half, with the
// model and all that trains it, is in app/experiment. All are values: reading them opens nothing.
// Each visit() has a line for every key of the YAML file, with its default, what it may be and its
// help; check() adds what two keys say of one another, and throws Error(ExitCode::config).

// as_is, cold, warm.
EnumNames<PageCache> enum_names(PageCache);

// `run:`, what the run is called, where it leaves its files, and what it starts from.
struct RunOptions {
  std::string name = "run";
  // The only source of randomness: the same seed gives the same run.
  uint64_t seed = 1;
  // Made if it does not exist. Relative to where the program is started.
  Path dir{"runs"};
  // Reached before the first sample is read; whether it was is in the summary.
  PageCache page_cache = PageCache::as_is;
  bool drop_caches = false;
  double hang_seconds = 60;
  template <class V>
  void visit(V& v) {
    v("name", name, same_results("The name of the run directory begins with this."));
    v("seed", seed, "The order, augmentation, weights and emulated times are functions of this.");
    v("dir", dir, same_results("The directory in which run directories are made."));
    v("page_cache", page_cache,
      same_results("The state of the page cache for the data when training begins: cold evicts the "
                   "data's own files, warm reads them all. The state is verified, with a warning "
                   "where it could not be reached."));
    v("drop_caches", drop_caches,
      same_results(
          "With page_cache: cold, also drop the page cache of the whole machine, where the "
          "kernel allows it."));
    v("hang_seconds", hang_seconds,
      same_results("The seconds that a file system may take to answer a call while the run starts. "
                   "After that the run ends with exit code 5."),
      Limits{0.1, 1e6});
  }
  // The name has to be usable for a directory; drop_caches is for page_cache: cold.
  void check(const Section& section) const;
};

// A component in it is its type with its options, parsed and checked; Component::create() makes the
// thing itself, which ExperimentData does in the right order.
struct DataOptions {
  RunOptions run;
  // Loaded already; named here so that the resolved configuration is complete.
  std::vector<Path> plugins;
  // By the names that the data set and checkpoints use for a tier.
  std::map<std::string, Component<Storage>> storage;
  Component<Dataset> dataset;
  // Its sample has the shape that the model takes.
  Component<Decoder> decoder = default_component<Decoder>("auto");
  // How many workers, how far ahead, in which order: all loaders have the same options.
  Component<Loader> loader = default_component<Loader>("prefetched");
  template <class V>
  void visit(V& v) {
    v("run", run, "The name, seed and place of the run.");
    v("plugins", plugins,
      same_results("Absolute paths of plug-ins, which are loaded before anything else is read."));
    v("storage", storage, same_results("The storage tiers by name."));
    v.required("dataset", dataset, "The data set to train on.");
    v("decoder", decoder,
      "How the bytes of a sample become pixels. `auto`: JPEG by `jpeg`, other images by `opencv`.");
    v("loader", loader, "How batches reach the trainer.");
  }
};

// What one section of this half says of another. Error(ExitCode::config), at its place in the file.
void check_data(const DataOptions& options, const Section& root);

// The sections of an experiment file that belong to the other half.
const std::vector<const char*>& training_sections();

// Reads this half of an experiment, as read_experiment() of app/experiment reads the whole: the
// other half's sections are not looked at, and an unknown section is an error. note: told what an
// override of a type drops, in one line; empty: nobody is. Error(ExitCode::config) with the place
// in the file; ExitCode::environment for a file that cannot be read.
DataOptions read_data_options(const std::string& path, const std::vector<std::string>& overrides,
                              const Notify& note = {});
// The same from its tree (load_experiment), which may have been made by a program.
DataOptions read_data_tree(const Node& root, const Notify& note = {});
// The same for a file that need not have a `dataset`, for commands that need its tiers only. What
// it has is checked all the same.
DataOptions read_tier_options(const std::string& path, const std::vector<std::string>& overrides,
                              const Notify& note = {});

// Both halves begin so. The file with its overrides as a tree, which is not a sweep's; a data set
// of nothing in it, where it may have none and has none; and, from the tree, what a section must
// know while it is read: the plug-ins are loaded for the rest of the process, and the tiers' names
// are collected.
Node load_experiment(const std::string& path, const std::vector<std::string>& overrides = {});
void add_dataset(Node& root);
ConfigContext begin_experiment(const Node& root);

// Its tier of this name; lives as long as `options`. Error(ExitCode::config), with a suggestion.
const Component<Storage>& find_tier(const DataOptions& options, const std::string& name);

}  // namespace stoker
