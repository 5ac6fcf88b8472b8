#include "app/tools/tune/ways.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "io/core/text/json.h"
#include "io/core/text/text.h"
#include "io/dataset/data_identity.h"
#include "io/experiment/experiment_data.h"

namespace stoker {
namespace {

std::string megabytes(uint64_t bytes) {
  return fmt::format("{:.0f} MB", 1e-6 * static_cast<double>(bytes));
}

Node mapping(std::vector<Node::Entry> entries) {
  Node node = Node::map();
  node.entries = std::move(entries);
  return node;
}
Node::Entry entry(const char* key, Node value) { return {key, {}, std::move(value)}; }
Node::Entry entry(const char* key, const std::string& text) { return {key, {}, Node::text(text)}; }

// An override that puts a component in the place of another one.
std::string replaced_by(const std::string& key, const Node& component) {
  return key + "=" + json_text(to_json(component));
}

// Whether the run comes back to a sample, so that keeping it is of use.
bool repeats(const ExperimentOptions& experiment, const TuneData& data) {
  const int64_t batch = std::max<int64_t>(1, experiment.loader.info().batch_size);
  const int64_t steps = experiment.training.max_steps.value_or(INT64_MAX);
  return experiment.training.epochs > 1 && steps > data.samples / batch;
}

std::vector<std::string> tier_names(const ExperimentOptions& experiment) {
  std::vector<std::string> names;
  for (const auto& [name, tier] : experiment.storage) names.push_back(name);
  return names;
}

class Ways {
 public:
  Ways(const ExperimentOptions& experiment, const TuneData& data, const TuneWayOptions& options,
       std::vector<std::string>& advice)
      : experiment_(experiment),
        data_(data),
        options_(options),
        advice_(advice),
        tier_(experiment.dataset.info().tier) {
    ways_.push_back({"as configured", {}, "", 0, 0, false, false});
  }

  std::vector<TuneWay> all() {
    if (!tier_.empty()) {
      add_copies();
      add_tiers();
    }
    add_pixels();
    add_orders();
    for (const std::string& each : options_.alternatives) add_alternative(each);
    return std::move(ways_);
  }

 private:
  bool fits(const char* what, uint64_t bytes) {
    if (bytes <= options_.memory) return true;
    advice_.push_back(fmt::format("{} would take {} of memory, and {} may be used here", what,
                                  megabytes(bytes), megabytes(options_.memory)));
    return false;
  }

  // The page cache keeps what files of this machine have; of others nobody keeps anything.
  void add_copies() {
    const Component<Storage>& tier = experiment_.storage.at(tier_);
    const StorageInfo info = tier.info();
    const bool in_page_cache = !info.emulated && !info.folders.empty();
    if (in_page_cache || info.keeps_copies || info.in_memory || !repeats(experiment_, data_))
      return;
    const uint64_t limit = data_.bytes + data_.bytes / 8;
    if (!fits("copies of all files in memory", limit)) return;
    const Node cached = mapping({entry("type", "cached"), entry("limit", fmt::format("{}", limit)),
                                 entry("inner", written({"storage", tier_}, tier))});
    add({"copies of the files in memory",
         {replaced_by("storage." + tier_, cached)},
         "",
         1,
         limit,
         true,
         false});
  }

  void add_pixels() {
    const DatasetInfo info = experiment_.dataset.info();
    SampleSpec spec = data_.spec;
    const bool squares = spec.height == spec.width && spec.channels == 3 && spec.target == 0;
    if (info.keeps_samples || !squares || spec.frame != 0 || !repeats(experiment_, data_)) return;
    const bool augments = experiment_.decoder.info().augments;
    if (augments && options_.same_results) {
      advice_.emplace_back(
          "decoded samples could be kept in memory, but what is drawn for each epoch would then be "
          "cut from those and not from the files (without --same-results it is tried)");
      return;
    }
    spec.type = PixelType::uint8;
    const uint64_t bytes = static_cast<uint64_t>(data_.samples) * spec.bytes();
    if (!fits("all decoded samples in memory", bytes)) return;
    const Node own = written({"decoder"}, experiment_.decoder);
    const std::string side = fmt::format("{}", spec.height);
    Node before = mapping({}), behind = mapping({entry("type", "raw"), entry("height", side),
                                                 entry("width", side), entry("size", side)});
    for (const Node::Entry& each : own.entries) {
      const bool later = each.key == "augment" || each.key == "output";
      if (each.key != "on_device" && each.key != "frame") {
        (later ? behind : before).entries.push_back(each);
      }
    }
    const Node kept = mapping({entry("type", "decoded"), entry("limit", fmt::format("{}", bytes)),
                               entry("inner", written({"dataset"}, experiment_.dataset)),
                               entry("decoder", before)});
    add({"decoded samples in memory",
         {replaced_by("dataset", kept), replaced_by("decoder", behind)},
         augments ? "augmentation is cut from kept squares, not from the files" : "",
         1,
         bytes,
         true,
         true});
  }

  // A component as it was written, or, where an override changed its type, with all its options.
  template <class T>
  Node written(const std::vector<std::string>& path, const Component<T>& component) const {
    const Node* node = &options_.written;
    for (const std::string& key : path) {
      node = node->find(key);
      if (node == nullptr || node->former != nullptr) return component.dump();
    }
    return *node;
  }

  // A way that the experiment can be read with.
  void add(TuneWay way) {
    Node root = options_.written;
    try {
      for (const std::string& word : way.overrides) apply_override(root, word);
      read_experiment_tree(root);
      ways_.push_back(std::move(way));
    } catch (const Error& error) {
      advice_.push_back(fmt::format("{}: {}", way.name, error.what()));
    }
  }

  // Where the data set names its tier by this option, another one can be named instead.
  void add_tiers() {
    const Node dataset = experiment_.dataset.dump();
    const Node* named = dataset.find("storage");
    if (named == nullptr || named->scalar != tier_) return;
    std::optional<DataIdentity> own;
    for (const std::string& name : tier_names(experiment_)) {
      if (name == tier_) continue;
      try {
        ExperimentOptions other = experiment_;
        const ConfigContext context{tier_names(experiment_)};
        other.dataset = changed(experiment_.dataset, {"storage=" + name}, &context);
        const DataIdentity there = identity_of(ExperimentData(other, {}).dataset());
        if (!own) own = identity_of(ExperimentData(experiment_, {}).dataset());
        if (there.train.hash != own->train.hash || there.classes_hash != own->classes_hash)
          continue;
      } catch (const Error&) {  // not there: then it is no place for the data
        continue;
      }
      ways_.push_back({"tier " + name, {"dataset.storage=" + name}, "", 0, 0, false, false});
    }
  }

  void add_orders() {
    const LoaderInfo loader = experiment_.loader.info();
    if (!data_.shared_files || !loader.shuffle || loader.order != SampleOrder::permutation) return;
    if (options_.same_results) {
      advice_.emplace_back(
          "samples share files: loader.order=shards reads them from begin to end, but batches have "
          "other samples (without --same-results it is tried)");
      return;
    }
    ways_.push_back({"files from begin to end",
                     {"loader.order=shards"},
                     "batches have other samples: loader.order is shards",
                     0,
                     0,
                     false,
                     false});
  }

  void add_alternative(const std::string& text) {
    TuneWay way;
    way.name = text;
    way.overrides = words_of_overrides(text);
    way.changes = "as given: " + text;
    if (way.overrides.empty()) {
      throw Error(ExitCode::config, "tune: --or needs overrides such as dataset.storage=fast");
    }
    ways_.push_back(std::move(way));
  }

  const ExperimentOptions& experiment_;
  const TuneData& data_;
  const TuneWayOptions& options_;
  std::vector<std::string>& advice_;
  const std::string tier_;
  std::vector<TuneWay> ways_;
};

}  // namespace

TuneData look_at_data(const ExperimentOptions& experiment) {
  const ExperimentData opened(experiment, {});
  const Dataset& dataset = opened.dataset();
  TuneData data;
  data.samples = dataset.size(Split::train);
  for (int64_t i = 0; i < data.samples; ++i) {
    const SampleInfo info = dataset.info(Split::train, i);
    data.bytes += info.bytes;
    data.shared_files = data.shared_files || info.file >= 0;
  }
  data.spec = opened.decoder().spec();
  data.pixel_bytes = data.spec.bytes();
  return data;
}

std::vector<TuneWay> ways_of(const ExperimentOptions& experiment, const TuneData& data,
                             const TuneWayOptions& options, std::vector<std::string>& advice) {
  return Ways(experiment, data, options, advice).all();
}

std::vector<std::string> words_of_overrides(const std::string& text) {
  std::vector<std::string> words = parts_outside_brackets(text, ' ');
  std::erase(words, "");
  return words;
}

}  // namespace stoker
