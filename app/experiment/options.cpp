#include "app/experiment/options.h"

#include <fmt/format.h>

#include "io/core/config/plugin.h"
#include "io/core/digest.h"

namespace stoker {
namespace {

// Called before the rest is read, because the rest may name types of plug-ins.
void load_plugins(const Node& root) {
  const Node* list = root.find("plugins");
  if (list == nullptr) return;
  std::vector<Path> plugins;
  Field<std::vector<Path>>::read(Section(*list, "", "plugins", nullptr), plugins, {});
  for (const Path& plugin : plugins) load_plugin(plugin.value);
}

// Checks what is known before the device is opened. `auto` may turn out to be a GPU.
void check_cuda_graph(const ExperimentOptions& options, const Section& root) {
  if (!options.device.info().graphs) {
    root.child("training", *root.node().find("training"))
        .fail("cuda_graph", "needs device.type cuda, not " + options.device.type() +
                                ", which has no graphs: leave it out, or set device.type=cuda");
  }
  if (!options.loader.info().drop_last) {
    root.child("loader", *root.node().find("loader"))
        .fail("drop_last",
              "must be true where training.cuda_graph is, for a graph's batches have one size: "
              "leave out one of the two");
  }
}

// Checkpoints outlive the process, or they are of no use.
void check_checkpoint_tiers(const ExperimentOptions& options, const Section& root) {
  const CheckpointerInfo checkpoint = options.checkpoint.info();
  if (!checkpoint.saves) return;
  for (const std::string& tier : checkpoint.tiers) {
    const StorageInfo info = options.storage.at(tier).info();
    if (info.in_memory) {
      root.fail("checkpoint", "must not name tier '" + tier +
                                  "': it keeps its objects in memory, where checkpoints end with "
                                  "the process; name a tier of files (posix) or a bucket");
    }
    if (info.read_only) {
      root.fail("checkpoint", "must not name tier '" + tier +
                                  "': it can only be read, so it can hold no checkpoints; name a "
                                  "tier of files (posix) or a bucket");
    }
  }
}

// A state that is written from where it lies has to lie there in the order of the file.
void check_swap(const ExperimentOptions& options, const Section& root) {
  const Section checkpoint = root.child("checkpoint", *root.node().find("checkpoint"));
  if (!options.optimizer.info().out_of_place) {
    checkpoint.fail("snapshot",
                    "must not be swap where optimizer.type is " + options.optimizer.type() +
                        ", which can write its update nowhere but in place: set "
                        "checkpoint.snapshot=async, or an optimizer.type such as sgd or adam");
  }
  if (options.training.channels_last) {
    checkpoint.fail(
        "snapshot",
        "must not be swap where training.channels_last is on, for files hold weights "
        "in row-major order: set checkpoint.snapshot=async, or leave channels_last out");
  }
}

// A reader that maps a file sees neither the waits of an emulated tier nor the copies of a cached
// one.
void check_mapped_files(const ExperimentOptions& options, const std::string& reader,
                        const Section& root) {
  const std::string tier = options.dataset.info().tier;
  const StorageInfo info =
      tier.empty() ? StorageInfo{.in_memory = true} : find_tier(options, tier).info();
  if (!info.emulated && !info.keeps_copies && !info.in_memory && !info.read_only) return;
  root.fail("loader", "must not map files (" + reader + ") where dataset.storage '" + tier +
                          "' is no tier of this machine's own files: mount that tier by `stoker "
                          "mount` and name the mount as a tier of type posix, or choose an "
                          "explicit reader such as reader: indexed");
}

// The model, its loss and its metric are all of classes, or all of maps.
void check_targets(const ExperimentOptions& options, const Section& root) {
  const bool maps = options.model.info().maps;
  const auto require = [&](const char* section, const auto& component, const char* key,
                           const char* fitting) {
    if (component.info().maps == maps) return;
    root.fail(section, fmt::format("must not be of {} ({}) where model.type {} answers {}: set "
                                   "{}.type={}",
                                   maps ? "classes" : "maps", component.type(),
                                   options.model.type(), maps ? "maps" : "classes", key, fitting));
  };
  require("loss", options.loss, "loss", maps ? "pixel_cross_entropy" : "cross_entropy");
  if (!options.evaluation.enabled) return;
  require("evaluation", options.evaluation.metric, "evaluation.metric", maps ? "iou" : "accuracy");
}

// Checks what one section says about another.
void check_together(const ExperimentOptions& options, const Section& root) {
  const LoaderInfo loader = options.loader.info();
  const DecoderInfo decoder = options.decoder.info();
  if (loader.resident && decoder.frames) {
    root.fail("decoder", "must not leave work to the device (on_device) where loader.type is " +
                             options.loader.type() +
                             ", which keeps finished pixels there: leave decoder.on_device out");
  }
  if (loader.resident && decoder.augments) {
    root.fail("decoder", "must not augment where loader.type is " + options.loader.type() +
                             ", for its pixels stay on the device over all epochs: leave "
                             "decoder.augment out, or use another loader");
  }
  if (options.dataset.info().whole_files && loader.shuffle &&
      loader.order == SampleOrder::permutation) {
    root.fail("dataset",
              "must not read whole files (access: whole) where loader.order is "
              "permutation, for each sample would read one: set loader.order to "
              "local_files or global_files, or leave access out");
  }
  if (!loader.maps_files.empty()) check_mapped_files(options, loader.maps_files, root);
  if (options.training.cuda_graph) check_cuda_graph(options, root);
  if (!options.training.compute && options.device.info().emulated) {
    root.fail("training",
              "must not say compute: false where device.type is emulated, which "
              "computes nothing as it is: leave compute out, or set device.type=cpu");
  }
  check_targets(options, root);
  check_checkpoint_tiers(options, root);
  if (options.checkpoint.info().snapshot == "swap") check_swap(options, root);
}

}  // namespace

EnumNames<OnNan> enum_names(OnNan) { return {{"stop", OnNan::stop}, {"warn", OnNan::warn}}; }

EnumNames<PageCache> enum_names(PageCache) {
  return {{"as_is", PageCache::as_is}, {"cold", PageCache::cold}, {"warm", PageCache::warm}};
}

void RunOptions::check(const Section& section) const {
  const bool plain = !name.empty() && name.front() != '.' && name.size() <= 100 &&
                     name.find('/') == std::string::npos;
  if (!plain) section.fail("name", "must be usable as the name of a directory, got '" + name + "'");
  if (drop_caches && page_cache != PageCache::cold) {
    section.fail("drop_caches", "is for page_cache: cold");
  }
}

namespace {

void check_windows(int64_t every_steps, int64_t steps, const Section& section) {
  if (every_steps == 0 || every_steps >= steps) return;
  section.fail("every_steps", "must be 0, or at least `steps`");
}

}  // namespace

void ProfileOptions::check(const Section& section) const {
  check_windows(every_steps, steps, section);
}

void IoProfileOptions::check(const Section& section) const {
  check_windows(every_steps, steps, section);
}

ExperimentOptions read_experiment(const std::string& path,
                                  const std::vector<std::string>& overrides) {
  Node root = load_experiment(path);
  for (const std::string& assignment : overrides) apply_override(root, assignment);
  return read_experiment_tree(root);
}

ExperimentOptions read_experiment_without_data(const std::string& path,
                                               const std::vector<std::string>& overrides) {
  Node root = load_experiment(path);
  for (const std::string& assignment : overrides) apply_override(root, assignment);
  if (root.find("dataset") == nullptr) {
    root.entries.push_back({"dataset", {}, default_component<Dataset>("synthetic").dump()});
  }
  return read_experiment_tree(root);
}

Node load_experiment(const std::string& path) {
  Node root = load_yaml(path);
  if (root.find("matrix") != nullptr || root.find("base") != nullptr) {
    throw Error(ExitCode::config,
                fmt::format("{}: this is a sweep, and no experiment: check it by `stoker sweep {} "
                            "--check`, run it by `stoker sweep {}`",
                            path, path, path));
  }
  return root;
}

ExperimentOptions read_experiment_tree(const Node& root) {
  load_plugins(root);
  ConfigContext context;
  if (const Node* tiers = root.find("storage")) {
    for (const Node::Entry& tier : tiers->entries) context.tiers.push_back(tier.key);
  }
  ExperimentOptions options;
  const Section section(root, "", "", &context);
  read_struct(section, options);
  check_together(options, section);
  return options;
}

const Component<Storage>& find_tier(const ExperimentOptions& options, const std::string& name) {
  const auto found = options.storage.find(name);
  if (found != options.storage.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, tier] : options.storage) names.push_back(known);
  throw Error(ExitCode::config,
              fmt::format("unknown storage tier '{}'{}", name,
                          names.empty() ? ": storage: has none" : suggestion(name, names)));
}

std::string resolved_yaml(const ExperimentOptions& options) {
  return to_yaml(dump_struct(options)) + "\n";
}

std::string config_hash(const ExperimentOptions& options) {
  return xxh3_64(resolved_yaml(options));
}

}  // namespace stoker
