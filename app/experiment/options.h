#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/experiment/precision.h"
#include "app/experiment/profile_options.h"
#include "app/optimizer/optimizer.h"
#include "io/checkpoint/checkpointer.h"
#include "io/dataset/dataset.h"
#include "io/decoder/decoder.h"
#include "io/device/device.h"
#include "io/loader/loader.h"
#include "io/metrics/run_meter.h"
#include "io/metrics/sink.h"
#include "io/storage/storage.h"
#include "models/model.h"

namespace stoker {

EnumNames<PageCache> enum_names(PageCache);

struct RunOptions {
  std::string name = "run";
  uint64_t seed = 1;
  Path dir{"runs"};
  PageCache page_cache = PageCache::as_is;
  bool drop_caches = false;
  template <class V>
  void visit(V& v) {
    v("name", name, same_results("beginning of the run directory's name"));
    v("seed", seed, "order, augmentation, weights and emulated times are functions of it");
    v("dir", dir, same_results("where run directories are made"));
    v("page_cache", page_cache,
      same_results(
          "state of the page cache for the data when training begins: cold evicts the data's own "
          "files, warm reads them all; verified, with a warning where it could not be reached"));
    v("drop_caches", drop_caches,
      same_results(
          "cold: also drop the page cache of the whole machine, where the kernel allows it"));
  }
  void check(const Section& section) const;
};

struct TrainingOptions {
  int64_t epochs = 1;
  std::optional<int64_t> max_steps;
  Precision precision = Precision::fp32;
  bool channels_last = false;
  bool deterministic = false;
  bool cuda_graph = false;
  Workers threads;
  template <class V>
  void visit(V& v) {
    v("epochs", epochs, "passes over the training samples", Limits{1, 1e9});
    v("max_steps", max_steps, "stop after so many steps", Limits{1, 1e15});
    v("precision", precision, "bf16: autocast; weights and optimizer stay fp32");
    v("channels_last", channels_last, "NHWC memory format for convolutions");
    v("deterministic", deterministic, "equal losses on repetition (CPU), at some cost");
    v("cuda_graph", cuda_graph,
      "forward and backward as one launch, captured once: for shapes and models that stay the "
      "same");
    v("threads", threads, "threads of LibTorch's kernels on the CPU");
  }
};

struct EvaluationOptions {
  bool enabled = true;
  std::optional<int64_t> every_epochs;
  template <class V>
  void visit(V& v) {
    v("enabled", enabled, "evaluate on the test split at the end of the run");
    v("every_epochs", every_epochs, "evaluate after every so many epochs, too", Limits{1, 1e9});
  }
};

struct MetricsOptions {
  int64_t every_steps = 10;
  ProfileOptions profile;
  std::vector<Component<MetricsSink>> sinks{default_component<MetricsSink>("console"),
                                            default_component<MetricsSink>("csv"),
                                            default_component<MetricsSink>("timeline")};
  template <class V>
  void visit(V& v) {
    v("every_steps", every_steps, "steps between reports; the loss is read then", Limits{1, 1e9});
    v("profile", profile, "windows of LibTorch's profiler");
    v("sinks", sinks, "where reports go");
  }
};

// A whole experiment as its YAML file says it. A value; reading it touches no data.
struct ExperimentOptions {
  RunOptions run;
  std::vector<Path> plugins;
  Component<Device> device = default_component<Device>("auto");
  std::map<std::string, Component<Storage>> storage;
  Component<Dataset> dataset;
  Component<Decoder> decoder = default_component<Decoder>("jpeg");
  Component<Loader> loader = default_component<Loader>("prefetched");
  Component<Model> model = default_component<Model>("alexnet");
  Component<Optimizer> optimizer = default_component<Optimizer>("sgd");
  Component<Schedule> schedule = default_component<Schedule>("constant");
  TrainingOptions training;
  EvaluationOptions evaluation;
  Component<Checkpointer> checkpoint = default_component<Checkpointer>("none");
  MetricsOptions metrics;
  template <class V>
  void visit(V& v) {
    v("run", run, "name, seed and place of the run");
    v("plugins", plugins,
      same_results("absolute paths of plug-ins, loaded before anything else is read"));
    v("device", device, "where compute runs");
    v("storage", storage, same_results("tiers by name"));
    v.required("dataset", dataset, "what is trained on");
    v("decoder", decoder, "bytes to pixels");
    v("loader", loader, "how batches reach the trainer");
    v("model", model, "the network");
    v("optimizer", optimizer, "how weights are updated");
    v("schedule", schedule, "the learning rate over the run");
    v("training", training, "how long and how precisely");
    v("evaluation", evaluation, same_results("accuracy on the test split"));
    v("checkpoint", checkpoint, same_results("how the state is saved, and where to"));
    v("metrics", metrics, same_results("what is reported, and where to"));
  }
};

// Reads file and overrides ("a.b=c"), loads the plug-ins, checks everything.
// Error(ExitCode::config) with position; ExitCode::environment for a file that cannot be read.
ExperimentOptions read_experiment(const std::string& path,
                                  const std::vector<std::string>& overrides);

// The resolved configuration: every option with its value. read_experiment of it gives the same.
std::string resolved_yaml(const ExperimentOptions& options);

// XXH3-64 of the resolved configuration in hex: equal for runs of the same experiment.
std::string config_hash(const ExperimentOptions& options);

}  // namespace stoker
