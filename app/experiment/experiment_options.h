#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/experiment/precision.h"
#include "io/checkpoint/checkpointer.h"
#include "io/device/device.h"
#include "io/distributed/options.h"
#include "io/experiment/data_options.h"
#include "io/metrics/sink.h"
#include "io/profiler/io_recorder_options.h"
#include "models/networks/model.h"
#include "models/objectives/loss.h"
#include "models/objectives/metric.h"
#include "models/optimizers/optimizer.h"

namespace stoker {

// The options of an experiment beside those of its components. All are values: reading them opens
// nothing. Each visit() has a line for every key of the YAML file, with its default, what it may be
// and its help; check() adds what two keys say of one another, and throws Error(ExitCode::config).

// What happens if the loss or the weights are NaN or infinite.
enum class OnNan { stop, warn };
EnumNames<OnNan> enum_names(OnNan);

// `training:`, how long and how precisely.
struct TrainingOptions {
  int64_t epochs = 1;
  // Ends the run earlier. Steps of all its processes count.
  std::optional<int64_t> max_steps;
  // The number format of the forward and backward pass.
  Precision precision = Precision::fp32;
  bool channels_last = false;
  double label_smoothing = 0;
  bool deterministic = false;
  OnNan on_nan = OnNan::stop;
  // Refused if the device has no graphs, or if batches have more than one size.
  bool cuda_graph = false;
  // If false, batches are read and moved to the device, to measure what that costs by itself.
  bool compute = true;
  // auto: as many as there are cores that this process may use.
  Workers threads;
  template <class V>
  void visit(V& v) {
    v("epochs", epochs, "Number of passes over the training samples.", Limits{1, 1e9});
    v("max_steps", max_steps, "Stop after this many steps. If absent, only epochs counts.",
      Limits{1, 1e15});
    v("precision", precision,
      "Number format in which the model computes. With bf16 (autocast), weights and optimizer stay "
      "in fp32.");
    v("channels_last", channels_last, "Use the memory format NHWC for convolutions.");
    v("label_smoothing", label_smoothing,
      "Share of the target that is given to all classes in equal parts (Szegedy et al. 2016, "
      "section 7).",
      Limits{0, 0.99});
    v("deterministic", deterministic,
      "Give equal losses when the run is repeated (on the CPU), at some cost of speed.");
    v("on_nan", on_nan,
      same_results(
          "What happens if the loss, or weights to be saved, are NaN or infinite. stop: the run "
          "ends with exit code 7, and its last checkpoint has finite weights. warn: it goes on."));
    v("cuda_graph", cuda_graph,
      "Capture the forward and backward pass once as a CUDA graph, and launch it as a whole. For "
      "models and shapes that stay the same.");
    v("compute", compute,
      "false: batches are only read and moved to the device, also in evaluations. Nothing is "
      "computed, so there is no loss and no accuracy.");
    v("threads", threads, "Number of threads for LibTorch's kernels on the CPU.");
  }
};

// `evaluation:`, when the test split is evaluated, and what is measured.
struct EvaluationOptions {
  // Evaluate at the end of the run. Without every_epochs, only then.
  bool enabled = true;
  std::optional<int64_t> every_epochs;
  Component<Metric> metric = default_component<Metric>("accuracy");
  template <class V>
  void visit(V& v) {
    v("enabled", enabled, "Evaluate on the test split at the end of the run.");
    v("every_epochs", every_epochs, "Evaluate also after every this many epochs.", Limits{1, 1e9});
    v("metric", metric,
      "What is measured. Its first measure is the score by which checkpoint.keep_best chooses.");
  }
};

// `metrics.profile:`, when LibTorch's profiler runs (ProfileWindow). In steps.
struct ProfileOptions {
  int64_t every_steps = 0;
  int64_t steps = 5;
  template <class V>
  void visit(V& v) {
    v("every_steps", every_steps,
      "A window of LibTorch's profiler (Kineto, with CUPTI on a GPU) begins after every this many "
      "steps. 0: never.",
      Limits{0, 1e9});
    v("steps", steps, "Length of a window in steps.", Limits{1, 1e6});
  }
  // A window has to be over when the next one begins.
  void check(const Section& section) const;
};

// `metrics.io_profile:`, when the I/O profiler has a session (IoWindow), and what it keeps. In
// steps.
struct IoProfileOptions {
  int64_t every_steps = 0;
  int64_t steps = 5;
  IoRecorderOptions recorder;
  template <class V>
  void visit(V& v) {
    v("every_steps", every_steps,
      "A session of the I/O profiler begins at the start and after every this many steps. 0: only "
      "when it is asked for, by SIGUSR2 or over the live server.",
      Limits{0, 1e9});
    v("steps", steps, "Length of a session in steps.", Limits{1, 1e9});
    recorder.visit(v);
  }
  void check(const Section& section) const;
};

// `metrics:`, what is reported, how often, and where to.
struct MetricsOptions {
  // Between two reports. Reading the loss for one waits for the device.
  int64_t every_steps = 10;
  ProfileOptions profile;
  IoProfileOptions io_profile;
  // In the order in which they get a report. An empty list: there are no sinks.
  std::vector<Component<MetricsSink>> sinks{default_component<MetricsSink>("console"),
                                            default_component<MetricsSink>("csv"),
                                            default_component<MetricsSink>("timeline")};
  template <class V>
  void visit(V& v) {
    v("every_steps", every_steps,
      "Number of steps between two reports. The loss is read for a report.", Limits{1, 1e9});
    v("profile", profile, "Windows of LibTorch's profiler.");
    v("io_profile", io_profile,
      "Sessions of the I/O profiler, which counts every call on a file as Darshan does.");
    v("sinks", sinks, "Where reports go, in this order.");
  }
};

// A whole experiment as its YAML file says it. A value; reading it touches no data. A component in
// it is its type with its options, parsed and checked; Component::create() makes the thing itself,
// which app/experiment/experiment.h does in the right order.
struct ExperimentOptions : DataOptions {
  Component<Device> device = default_component<Device>("auto");
  Component<Model> model = default_component<Model>("alexnet");
  // For classes or for maps, as the model is.
  Component<Loss> loss = default_component<Loss>("cross_entropy");
  Component<Optimizer> optimizer = default_component<Optimizer>("sgd");
  // Its factor multiplies the optimizer's rate.
  Component<Schedule> schedule = default_component<Schedule>("constant");
  TrainingOptions training;
  // Absent: one process, whatever started it.
  std::optional<DistributedOptions> distributed;
  EvaluationOptions evaluation;
  // Its options name tiers of `storage`, which reading checks.
  Component<Checkpointer> checkpoint = default_component<Checkpointer>("none");
  MetricsOptions metrics;
  template <class V>
  void visit(V& v) {
    v("run", run, "Name, seed and place of the run.");
    v("plugins", plugins,
      same_results("Absolute paths of plug-ins. They are loaded before anything else is read."));
    v("device", device, "Where the model computes.");
    v("storage", storage, same_results("Storage tiers by name."));
    v.required("dataset", dataset, "The data set to train on.");
    v("decoder", decoder, "How encoded samples become pixels.");
    v("loader", loader, "How batches reach the trainer.");
    v("model", model, "The network.");
    v("loss", loss, "The loss that training minimises.");
    v("optimizer", optimizer, "How weights are updated.");
    v("schedule", schedule, "How the learning rate changes over the run.");
    v("training", training, "How long and how precisely to train.");
    v("distributed", distributed,
      same_results("Several ranks train one model. Start them by torchrun, mpirun, srun or `stoker "
                   "launch`."));
    v("evaluation", evaluation, same_results("How the model is evaluated on the test split."));
    v("checkpoint", checkpoint, same_results("How checkpoints are saved, and where to."));
    v("metrics", metrics, same_results("What is reported, and where to."));
  }
};

// A command gets its experiment from one of the following functions, and nowhere else.

// Reads file and overrides ("a.b=c", the last one of a key counts), loads the plug-ins for the rest
// of the process, checks everything: each value, and what one section says of another.
// Error(ExitCode::config) with the place in the file; ExitCode::environment for a file that cannot
// be read. One thread at a time.
ExperimentOptions read_experiment(const std::string& path,
                                  const std::vector<std::string>& overrides);

// The same for a file that need not have a `dataset`, for commands that need no data. What it has
// is checked all the same.
ExperimentOptions read_experiment_without_data(const std::string& path,
                                               const std::vector<std::string>& overrides);

// The experiment from its tree (load_experiment), which may be part of a larger file.
ExperimentOptions read_experiment_tree(const Node& root);

// The resolved configuration, YAML that ends with a line break: every option with its value.
// read_experiment of it gives the same.
std::string resolved_yaml(const ExperimentOptions& options);

// XXH3-64 of the resolved configuration in hex: equal for runs of the same experiment.
std::string config_hash(const ExperimentOptions& options);

}  // namespace stoker
