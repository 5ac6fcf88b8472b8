#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <regex>
#include <set>

#include "app/experiment/experiment_options.h"
#include "io/core/config/plugin.h"
#include "io/core/error.h"
#include "tests/support/registered.h"
#include "tests/support/temporary_directory.h"

// "Each one word of a YAML file": every type of every kind, by one override, on each configuration
// that ships and on the resolved form of each. It is valid, or the message says the words that make
// it valid; kWords lists the swaps that need some. tests/app/commands/one_word_test.py trains a
// step.

namespace stoker {
namespace {

namespace fs = std::filesystem;

// Swaps that are refused on some configuration, and the words that the message asks for. A value in
// angle brackets stands for "...", which the user has to know.
const std::map<std::string, std::string> kWords{
    {"storage.type=http", "url=<http://127.0.0.1:9/>"},
    {"storage.type=s3", "endpoint=<http://127.0.0.1:9> bucket=<data>"},
    // No type can go back to a directory that nobody named.
    {"storage.type=posix", "root=<data>"},
    {"storage.type=direct", "root=<data>"},
    {"storage.type=uring", "root=<data>"},
    // A tier that checkpoints go to.
    {"storage.type=memory", "checkpoint.fast=null checkpoint.slow=null"},
    // From data that need no tier to data that lie on one.
    {"dataset.type=image_folder", "storage=<data>"},
    {"dataset.type=file_list", "storage=<data>"},
    {"dataset.type=packed", "storage=<data>"},
    {"dataset.type=tar_shards", "storage=<data>"},
    {"dataset.type=tfrecord", "storage=<data>"},
    {"dataset.type=hdf5", "storage=<data>"},
    {"dataset.type=indexed_binary", "storage=<data>"},
    {"dataset.type=lmdb", "storage=<data>"},
    {"dataset.type=parquet", "storage=<data>"},
    {"decoder.type=bytes", "decoder.augment.color_jitter=null"},
    {"loader.type=device_resident", "decoder.augment={}"},
    {"loader.type=lmdbio", "loader.shuffle=false loader.order=permutation loader.reader=indexed"},
    {"device.type=emulated", "training.compute=true"},
    // A model answers classes or maps, and loss and metric are for what it answers.
    {"model.type", "loss.type=<> evaluation.metric.type=<>"},
    {"loss.type", "loss.type=<>"},
    {"evaluation.metric.type", "evaluation.metric.type=<>"},
    {"schedule.type=step", "schedule.every_epochs=30"},
    {"metrics.sinks.0.type", "metrics.sinks=<>"},
};

template <class T>
void add_kind(const std::string& path, std::vector<std::string>& swaps) {
  for (const std::string& type : registered_types<T>()) {
    swaps.push_back(path + ".type=" + type);
  }
}

std::vector<std::string> swaps_of(const ExperimentOptions& options) {
  std::vector<std::string> swaps;
  add_kind<Device>("device", swaps);
  for (const auto& [name, tier] : options.storage) add_kind<Storage>("storage." + name, swaps);
  add_kind<Dataset>("dataset", swaps);
  add_kind<Decoder>("decoder", swaps);
  add_kind<Loader>("loader", swaps);
  add_kind<Model>("model", swaps);
  add_kind<Loss>("loss", swaps);
  add_kind<Optimizer>("optimizer", swaps);
  add_kind<Schedule>("schedule", swaps);
  add_kind<Metric>("evaluation.metric", swaps);
  add_kind<Checkpointer>("checkpoint", swaps);
  add_kind<MetricsSink>("metrics.sinks.0", swaps);
  return swaps;
}

// The words of kWords for a swap of a tier are those of storage.
const std::string* listed(const std::string& swap) {
  const std::string kind = std::regex_replace(swap, std::regex("^storage\\.[^.]+"), "storage");
  for (const std::string& key : {kind, kind.substr(0, kind.find('='))}) {
    const auto found = kWords.find(key);
    if (found != kWords.end()) return &found->second;
  }
  return nullptr;
}

// The assignments that a message asks for, with what kWords knows in the place of "...".
std::vector<std::string> words_of(const std::string& message, const std::string& known,
                                  const ExperimentOptions& options) {
  std::vector<std::string> words;
  const std::regex asked("(?:set|add|such as)((?: [a-z_.0-9]+=(?:\\[.*\\]|[^ ,;]+))+)");
  const std::regex word(" ([a-z_.0-9]+)=(\\[.*\\]|[^ ,;]+)");
  std::smatch sentence;
  if (!std::regex_search(message, sentence, asked)) return words;
  const std::string all = sentence[1];
  for (std::sregex_iterator at(all.begin(), all.end(), word), end; at != end; ++at) {
    const std::string key = (*at)[1];
    std::string value = (*at)[2];
    if (value == "...") {
      const std::string last = key.substr(key.rfind('.') + 1);
      std::smatch given;
      if (!std::regex_search(known, given, std::regex(last + "=<([^>]*)>"))) continue;
      value = given[1];
      if (last == "storage" && !options.storage.empty()) value = options.storage.begin()->first;
    }
    words.push_back(key + "=" + value);
  }
  return words;
}

// What reading says against these overrides; empty: nothing.
std::string refusal(const std::string& file, const std::vector<std::string>& overrides) {
  try {
    read_experiment(file, overrides, {});
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

// What is wrong with a swap; empty: nothing is.
std::string fault(const std::string& file, const std::string& swap,
                  const ExperimentOptions& options) {
  std::vector<std::string> overrides{swap};
  for (int round = 0; round < 6; ++round) {
    const std::string message = refusal(file, overrides);
    if (message.empty()) return "";
    const std::string* known = listed(swap);
    if (known == nullptr) return "needs words that nobody listed: " + message;
    if (message.find('\n') != std::string::npos) return "more than a line: " + message;
    const std::vector<std::string> words = words_of(message, *known, options);
    if (words.empty()) return "does not say what to do: " + message;
    overrides.insert(overrides.end(), words.begin(), words.end());
  }
  return "still refused with " + overrides.back();
}

class OneWord : public testing::Test {
 protected:
  // All swaps on one file. The number of them.
  size_t swap_all(const std::string& file, const std::string& name) {
    const ExperimentOptions options = read_experiment(file, {});
    const std::vector<std::string> swaps = swaps_of(options);
    for (const std::string& swap : swaps) {
      EXPECT_EQ(fault(file, swap, options), "") << name << ": " << swap;
    }
    return swaps.size();
  }
  const TemporaryDirectory directory_;
};

TEST_F(OneWord, of_every_configuration_that_ships_and_of_its_resolved_form) {
  load_all_plugins();
  size_t files = 0, swaps = 0;
  for (const auto& entry : fs::directory_iterator(STOKER_SOURCE_DIR "/configs")) {
    if (entry.path().extension() != ".yaml") continue;
    const std::string file = entry.path().string();
    const std::string name = entry.path().filename().string();
    swaps += swap_all(file, name);
    directory_.write(name, resolved_yaml(read_experiment(file, {})));
    swaps += swap_all(directory_ / name, "resolved " + name);
    ++files;
  }
  EXPECT_GE(files, 10u);
  EXPECT_GE(swaps, 100 * files);
}

TEST_F(OneWord, a_new_type_says_what_it_drops) {
  std::vector<std::string> notes;
  const auto read = [&](const char* file, const std::vector<std::string>& overrides) {
    notes.clear();
    return read_experiment(STOKER_SOURCE_DIR "/configs/" + std::string(file), overrides,
                           [&](const std::string& note) { notes.push_back(note); });
  };
  read("slow-tier.yaml", {"device.type=cpu", "storage.data.type=posix"});
  EXPECT_EQ(
      notes,
      (std::vector<std::string>{
          "device.type=cpu: dropped 'step_ms', which cpu does not know",
          "storage.data.type=posix: dropped 'profile', 'shared', which posix does not know"}));
  read("caltech101.yaml", {"dataset.type=tfrecord"});
  EXPECT_EQ(notes,
            std::vector<std::string>{"dataset.type=tfrecord: dropped 'fetch', 'exclude', 'split', "
                                     "which tfrecord does not know"});
  read("quickstart.yaml", {"loader.type=sync"});
  EXPECT_TRUE(notes.empty());
}

TEST_F(OneWord, a_tier_may_wrap_what_stood_there) {
  const auto tier = [](const std::vector<std::string>& overrides) {
    const ExperimentOptions options =
        read_experiment(STOKER_SOURCE_DIR "/configs/quickstart.yaml", overrides, {});
    return options.storage.at("data");
  };
  const Component<Storage> plain = tier({});
  for (const std::string type : {"emulated", "cached"}) {
    const Component<Storage> around = tier({"storage.data.type=" + type});
    EXPECT_EQ(around.type(), type);
    EXPECT_EQ(to_yaml(around.inner().dump()), to_yaml(plain.dump()));
  }
  EXPECT_EQ(tier({"storage.data.type=emulated"}).dump().find("profile")->scalar, "hdd");
  EXPECT_EQ(tier({"storage.data.type=emulated", "storage.data.read_mb_per_s=1",
                  "storage.data.write_mb_per_s=1"})
                .dump()
                .find("profile"),
            nullptr);
}

TEST_F(OneWord, checkpointers_have_tiers_below_the_directory_of_runs) {
  const auto read = [](const std::vector<std::string>& overrides) {
    return read_experiment(STOKER_SOURCE_DIR "/configs/quickstart.yaml", overrides, {});
  };
  const auto root = [](const ExperimentOptions& options, const char* tier) {
    return options.storage.at(tier).dump().find("root")->scalar;
  };
  const ExperimentOptions direct = read({"checkpoint.type=direct"});
  EXPECT_EQ(root(direct, "checkpoints"), "runs/checkpoints");
  EXPECT_EQ(direct.checkpoint.dump().find("slow")->scalar, "checkpoints");
  EXPECT_FALSE(direct.storage.contains("checkpoints_fast"));
  const ExperimentOptions both = read({"checkpoint.type=burst_buffer", "run.dir=elsewhere"});
  EXPECT_EQ(root(both, "checkpoints"), "elsewhere/checkpoints");
  EXPECT_EQ(root(both, "checkpoints_fast"), "elsewhere/checkpoints_fast");
  EXPECT_EQ(read({}).storage.size(), 1u);
}

}  // namespace
}  // namespace stoker
