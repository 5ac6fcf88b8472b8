#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "app/experiment/experiment_options.h"
#include "app/tools/sweep/mounts.h"
#include "app/tools/sweep/plan.h"
#include "tests/support/errors.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

// Experiments, and the sweeps in paper/; those of paper/simulate/ are neither.
std::vector<std::string> config_files(bool sweeps = false) {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(STOKER_SOURCE_DIR "/configs")) {
    const fs::path folder = entry.path().parent_path().filename();
    if (folder == "simulate" || entry.path().filename() == "all.yaml") continue;
    const bool sweep = folder != "configs";
    if (entry.path().extension() == ".yaml" && sweep == sweeps)
      files.push_back(entry.path().string());
  }
  return files;
}

std::string write(const std::string& name, const std::string& text) {
  const std::string path = ::testing::TempDir() + name;
  std::ofstream(path) << text;
  return path;
}

constexpr const char* kMinimal =
    "storage: {data: {type: memory}}\ndataset: {type: image_folder, storage: data}\n";

std::string error(const std::string& text) {
  const std::string path = write("bad.yaml", text);
  const std::string what = error_of([&] { read_experiment(path, {}); });
  return what.starts_with(path) ? what.substr(path.size()) : what;
}

TEST(Configs, every_file_is_valid_and_reads_back_from_its_resolved_form) {
  ASSERT_GE(config_files().size(), 3u);
  for (const std::string& file : config_files()) {
    const ExperimentOptions options = read_experiment(file, {});
    const std::string resolved = write("resolved.yaml", resolved_yaml(options));
    const ExperimentOptions again = read_experiment(resolved, {});
    EXPECT_EQ(resolved_yaml(again), resolved_yaml(options)) << file;
    EXPECT_EQ(config_hash(again), config_hash(options)) << file;
  }
}

// The sections of a struct: what its keys begin with.
template <class T>
std::set<std::string> sections_of(T options) {
  FieldDescriber describer;
  options.visit(describer);
  std::set<std::string> sections;
  for (const FieldHelp& row : describer.take())
    sections.insert(row.key.substr(0, row.key.find('.')));
  return sections;
}

// Who reads the data half skips the other one's sections by name.
TEST(Configs, the_two_halves_of_an_experiment_are_the_whole) {
  std::set<std::string> halves = sections_of(DataOptions());
  halves.insert(training_sections().begin(), training_sections().end());
  EXPECT_EQ(halves, sections_of(ExperimentOptions()));
}

TEST(Configs, checkpoints_are_not_kept_in_memory) {
  const std::string begin =
      "storage: {m: {type: memory}, p: {type: posix, root: /tmp/x}, s: {type: emulated, profile: "
      "ssd, "
      "inner: {type: memory}}}\ndataset: {type: synthetic}\n";
  const std::string why =
      "it keeps its objects in memory, where checkpoints end with the process; name a tier of "
      "files "
      "(posix) or a bucket";
  EXPECT_THAT(error(begin + "checkpoint: {type: direct, slow: m}\n"),
              testing::HasSubstr("must not name tier 'm': " + why));
  EXPECT_THAT(error(begin + "checkpoint: {type: burst_buffer, fast: s, slow: p}\n"),
              testing::HasSubstr("must not name tier 's': " + why));
  const std::string none = write("none.yaml", begin + "checkpoint: {type: none, slow: m}\n");
  EXPECT_EQ(code_of([&] { read_experiment(none, {}); }), ExitCode::ok);
  EXPECT_THAT(error(begin + "checkpoint: {type: none, resume: sets/step-0000000002}\n"),
              testing::HasSubstr("type: none restores nothing: set checkpoint.type=direct to go on "
                                 "from sets/step-0000000002"));
}

TEST(Configs, every_cell_of_every_sweep_is_valid) {
  ASSERT_GE(config_files(true).size(), 4u);
  for (const std::string& file : config_files(true)) {
    const SweepOptions options = read_sweep(file, {});
    const SweepMounts mounts(options, "directory");
    const SweepPlan plan = plan_sweep(options, [&](const SweepCell& cell) {
      const bool simulated = cell.command.text == kSimulate;
      Node tree = options.base.path.empty() ? options.base.experiment
                  : simulated               ? load_yaml(options.base.path)
                                            : load_experiment(options.base.path);
      for (const Word& assignment : cell.overrides) apply_override(tree, assignment);
      if (simulated) return CellExperiment{to_yaml(tree), {}};
      return CellExperiment{config_hash(read_experiment_tree(tree)), {}};
    });
    EXPECT_GE(plan.cells.size(), 2u) << file;
    EXPECT_EQ(options.name, fs::path(file).stem().string());
    EXPECT_FALSE(options.findings.empty()) << file;
    for (const FindingOptions& finding : options.findings) {
      EXPECT_FALSE(finding.source.empty()) << file << ": " << finding.name;
    }
  }
}

TEST(Configs, overrides_win_over_the_file) {
  const std::string path = write("minimal.yaml", kMinimal);
  const auto options = read_experiment(path, {"loader.type=sync", "run.seed=9"});
  EXPECT_EQ(options.loader.type(), "sync");
  EXPECT_EQ(options.run.seed, 9u);
  EXPECT_NE(config_hash(options), config_hash(read_experiment(path, {})));
}

TEST(Configs, messages_are_whole) {
  EXPECT_EQ(error("dataset: {type: image_folder, storage: dta}\nstorage: {data: {type: memory}}\n"),
            ":1:40: dataset: 'storage' names no tier under storage:, got 'dta' (did you mean "
            "'data'?)");
  EXPECT_EQ(error("loder: {type: sync}\n" + std::string(kMinimal)),
            ":1:1: unknown key 'loder' (did you mean 'loader'?)");
  EXPECT_EQ(error("loader: {type: prefetchd}\n" + std::string(kMinimal)),
            ":1:16: loader: unknown loader 'prefetchd' (did you mean 'prefetched'?)");
  EXPECT_EQ(error("loader: {type: sync, worker: 3}\n" + std::string(kMinimal)),
            ":1:22: loader: unknown key 'worker' (did you mean 'workers'?)");
  EXPECT_EQ(error("loader: {type: sync, workers: 0}\n" + std::string(kMinimal)),
            ":1:31: loader: 'workers' must be auto or a number from 1 to 1024, got '0'");
  EXPECT_EQ(error("run: {name: a/b}\n" + std::string(kMinimal)),
            ":1:13: run: 'name' must be usable as the name of a directory, got 'a/b'");
  EXPECT_EQ(error("metrics: {sinks: [{type: consol}]}\n" + std::string(kMinimal)),
            ":1:26: metrics.sinks.0: unknown sink 'consol' (did you mean 'console'?)");
  EXPECT_EQ(error("storage: {data: {type: memory}}\n"), ":1:1: missing key 'dataset'");
  EXPECT_EQ(error("plugins: [relative.so]\n" + std::string(kMinimal)),
            "relative.so: a plug-in is named by its absolute path");
}

TEST(Configs, no_number_begins_with_a_zero) {
  const std::string text = std::string(kMinimal) + "loader: {type: sync}\n";
  for (const char* option : {"loader.workers", "training.threads", "dataset.on_error.budget"}) {
    const std::string what = error_of(
        [&] { read_experiment(write("zero.yaml", text), {std::string(option) + "=010"}); });
    EXPECT_NE(what.find("got '010' (a leading zero is ambiguous: drop it)"), std::string::npos)
        << what;
  }
}

TEST(Configs, a_slip_in_a_key_that_must_be_there_is_found) {
  EXPECT_EQ(error("storage: {data: {type: memory}}\ndatset: {type: image_folder}\n"),
            ":2:1: unknown key 'datset' (did you mean 'dataset'?)");
  EXPECT_EQ(error("storage: {data: {tpye: memory}}\n"),
            ":1:18: storage.data: unknown key 'tpye' (did you mean 'type'?)");
  EXPECT_EQ(error("decoder: {type: jepg}\n" + std::string(kMinimal)),
            ":1:17: decoder: unknown decoder 'jepg' (did you mean 'jpeg'?)");
  EXPECT_EQ(error("decoder: {type: jpeg, siez: 32}\n" + std::string(kMinimal)),
            ":1:23: decoder: unknown key 'siez' (did you mean 'size'?)");
}

TEST(Configs, a_graph_is_refused_where_there_can_be_none) {
  const std::string asked = std::string(kMinimal) + "training: {cuda_graph: true}\n";
  const auto refused = [](const std::string& device) {
    return ":3:24: training: 'cuda_graph' needs device.type cuda, not " + device +
           ", which has no graphs: leave it out, or set device.type=cuda";
  };
  EXPECT_EQ(error(asked + "device: {type: cpu}\n"), refused("cpu"));
  EXPECT_EQ(error(asked + "device: {type: emulated, step_ms: 1}\n"), refused("emulated"));
  EXPECT_EQ(error(asked + "loader: {type: sync, drop_last: false}\n"),
            ":4:33: loader: 'drop_last' must be true where training.cuda_graph is, for a graph's "
            "batches have one size: leave out one of the two");
  EXPECT_TRUE(read_experiment(write("graph.yaml", asked), {}).training.cuda_graph);
}

TEST(Configs, ranks_are_asked_for_by_a_backend_and_a_time) {
  const std::string asked = std::string(kMinimal) + "distributed: ";
  const ExperimentOptions options =
      read_experiment(write("ranks.yaml", asked + "{timeout: 2min, bucket: 1MiB}\n"), {});
  EXPECT_EQ(options.distributed->backend, "gloo");
  EXPECT_EQ(options.distributed->timeout.ms, 120'000);
  EXPECT_FALSE(read_experiment(write("alone.yaml", kMinimal), {}).distributed);
  EXPECT_EQ(error(asked + "{backend: glo}\n"),
            ":3:24: distributed: 'backend' is no backend of collectives that is there: 'glo' (did "
            "you mean 'gloo'?)");
  EXPECT_EQ(error(asked + "{timeout: 60}\n"),
            ":3:24: distributed: 'timeout' must be a time such as 500ms, 60s or 2min, got '60'");
}

TEST(Configs, a_file_that_is_no_plug_in_is_refused) {
  const std::string plugin = write("no_plugin.so", "nothing of the kind");
  EXPECT_EQ(error("plugins: [" + plugin + "]\n" + kMinimal),
            plugin +
                ": not a plug-in of this program (no stamp): build it with "
                "stoker_add_plugin() of the installed CMake package");
  const std::string stale = write("stale.so", "@(#)stoker-plugin abi=0;gxx=1.0.0;");
  EXPECT_TRUE(error("plugins: [" + stale + "]\n" + kMinimal)
                  .starts_with(stale + ": built for another release; rebuild it\n  plug-in: "
                                       "abi=0;gxx=1.0.0;\n  program: abi="));
}

}  // namespace
}  // namespace stoker
