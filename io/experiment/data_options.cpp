#include "io/experiment/data_options.h"

#include <fmt/format.h>

#include <filesystem>

#include "io/core/config/plugin.h"
#include "io/experiment/experiment_data.h"
#include "io/storage/tiers.h"

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

// A reader that maps a file sees neither the waits of an emulated tier nor the copies of a cached
// one.
void check_mapped_files(const DataOptions& options, const std::string& reader,
                        const Section& root) {
  const std::string tier = options.dataset.info().tier;
  const StorageInfo info =
      tier.empty() ? StorageInfo{.in_memory = true} : find_tier(options, tier).info();
  if (!info.emulated && !info.keeps_copies && !info.in_memory && !info.read_only) return;
  root.fail("loader", "must not map files (" + reader + ") where dataset.storage '" + tier +
                          "' is no tier of this machine's own files: mount that tier by `stoker "
                          "mount` and name the mount as a tier of type posix, or set "
                          "loader.reader=indexed, which reads through the tier");
}

// People give a command their data where it takes an experiment.
void refuse_folder(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return;
  if (std::filesystem::exists(path + "/config.yaml", error)) {
    throw Error(ExitCode::config,
                fmt::format("{}: this is the directory of a run, and no experiment: its experiment "
                            "is {}/config.yaml",
                            path, path));
  }
  throw Error(ExitCode::config,
              fmt::format("{}: this is a folder, and no experiment: `stoker try {}` looks at the "
                          "data in it, measures them and writes an experiment",
                          path, path));
}

}  // namespace

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

void check_data(const DataOptions& options, const Section& root) {
  const LoaderInfo loader = options.loader.info();
  const DecoderInfo decoder = options.decoder.info();
  if (loader.resident && decoder.frames) {
    root.fail("decoder", "must not leave work to the device (on_device) where loader.type is " +
                             options.loader.type() +
                             ", which keeps finished pixels there: set decoder.on_device=nothing");
  }
  if (loader.resident && decoder.augments) {
    root.fail("decoder", "must not augment where loader.type is " + options.loader.type() +
                             ", for its pixels stay on the device over all epochs: set "
                             "decoder.augment={}, or use another loader");
  }
  if (options.dataset.info().whole_files && loader.shuffle &&
      loader.order == SampleOrder::permutation) {
    root.fail("dataset",
              "must not read whole files (access: whole) where loader.order is "
              "permutation, for each sample would read one: set loader.order=local_files or "
              "loader.order=global_files, or leave access out");
  }
  if (!loader.maps_files.empty()) check_mapped_files(options, loader.maps_files, root);
}

const std::vector<const char*>& training_sections() {
  static const std::vector<const char*> names{"device",     "model",    "loss",        "optimizer",
                                              "schedule",   "training", "distributed", "evaluation",
                                              "checkpoint", "metrics"};
  return names;
}

DataOptions read_data_options(const std::string& path, const std::vector<std::string>& overrides,
                              const Notify& note) {
  return read_data_tree(load_experiment(path, overrides), note);
}

DataOptions read_tier_options(const std::string& path, const std::vector<std::string>& overrides,
                              const Notify& note) {
  Node root = load_experiment(path, overrides);
  add_dataset(root);
  return read_data_tree(root, note);
}

DataOptions read_data_tree(const Node& root, const Notify& note) {
  ConfigContext context = begin_experiment(root);
  context.note = note;
  DataOptions options;
  const Section section(root, "", "", &context);
  read_struct(section, options, training_sections());
  check_data(options, section);
  return options;
}

Node load_experiment(const std::string& path, const std::vector<std::string>& overrides) {
  refuse_folder(path);
  Node root = load_yaml(path);
  if (root.find("matrix") != nullptr || root.find("base") != nullptr) {
    throw Error(ExitCode::config,
                fmt::format("{}: this is a sweep, and no experiment: check it by `stoker sweep {} "
                            "--check`, run it by `stoker sweep {}`",
                            path, path, path));
  }
  for (const std::string& assignment : overrides) apply_override(root, assignment);
  return root;
}

void add_dataset(Node& root) {
  if (root.find("dataset") != nullptr) return;
  root.entries.push_back({"dataset", {}, default_component<Dataset>("synthetic").dump()});
}

ConfigContext begin_experiment(const Node& root) {
  load_plugins(root);
  ConfigContext context;
  if (const Node* tiers = root.find("storage")) {
    for (const Node::Entry& tier : tiers->entries) context.tiers.push_back(tier.key);
  }
  return context;
}

const Component<Storage>& find_tier(const DataOptions& options, const std::string& name) {
  const auto found = options.storage.find(name);
  if (found != options.storage.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, tier] : options.storage) names.push_back(known);
  throw Error(ExitCode::config,
              fmt::format("unknown storage tier '{}'{}", name,
                          names.empty() ? ": storage: has none" : suggestion(name, names)));
}

ExperimentData::ExperimentData(const DataOptions& options, const Notify& notify)
    : loader_(options.loader),
      seed_(options.run.seed),
      notify_(notify ? notify : [](const std::string&) {}),
      decoder_type_(options.decoder.type()),
      decodes_(options.decoder.info().arrays),
      tier_(options.dataset.info().tier) {
  for (const auto& [name, tier] : options.storage) {
    tiers_.add(name, open_tier(tier, {name, notify, &hub_}));
  }
  dataset_ = options.dataset.create({tiers_, options.run.seed, notify});
  decoder_ = options.decoder.create({});
}

// Those who read samples and decode none do not ask for it.
const Decoder& ExperimentData::decoder() const {
  check_arrays(*dataset_, decoder_type_, decodes_);
  return *decoder_;
}

std::unique_ptr<Loader> ExperimentData::make_loader(const LoaderUse& use) {
  return loader_.create(
      {.dataset = dataset(),
       .decoder = decoder(),
       .allocate = use.allocate,
       .split = use.split,
       .seed = seed_,
       .notify = notify_,
       .meter = use.split == Split::train ? hub_.train_loader() : hub_.test_loader(),
       .shard = use.shard,
       .device = use.device,
       .group = use.group,
       .channel = fmt::format("loaders/{}", loaders_made_++),
       .may_hold = use.may_hold});
}

const FileTree* ExperimentData::files() const {
  return tier_.empty() ? nullptr : files_of(tiers_.at(tier_));
}

}  // namespace stoker
