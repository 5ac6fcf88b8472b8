#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/base/command_line.h"
#include "app/base/progress_line.h"
#include "io/checkpoint/checkpointer.h"
#include "io/core/error.h"
#include "io/device/device.h"
#include "io/distributed/distributed_options.h"
#include "io/experiment/data_options.h"
#include "io/loader/loader.h"
#include "io/metrics/io_sessions.h"
#include "io/metrics/run_meter.h"
#include "io/metrics/sink.h"
#include "models/networks/model.h"
#include "models/objectives/objective.h"
#include "models/optimizers/optimizer.h"

namespace stoker {

// training.precision: the number format in which the model computes. Weights and optimizer are fp32
// with both.
enum class Precision { fp32, bf16 };
// fp32, bf16.
EnumNames<Precision> enum_names(Precision);

// Whether LibTorch has kernels for bf16 on this CPU (x86: those with AVX-512). Plain loops stand in
// for them, about a hundred times slower than fp32.
bool cpu_has_bf16_kernels();
// The message for a CPU without these kernels: the fact, and what to do.
inline constexpr const char* kNoBf16Kernels =
    "this CPU has no fast bf16 (AVX-512 is needed): steps take about a hundred times as long as "
    "with "
    "training.precision: fp32";
// The options of an experiment beside those of its components. All are values: reading them opens
// nothing. Each visit() has a line for every key of the YAML file, with its default, what it may be
// and its help; check() adds what two keys say of one another, and throws Error(ExitCode::config).

// What happens if the loss or the weights are NaN or infinite.
enum class OnNan { stop, warn };
EnumNames<OnNan> enum_names(OnNan);

// `training:`, how long and how precisely.
struct TrainingOptions {
  int64_t epochs = 1;
  // Ends the run earlier. The steps of all its processes count together.
  std::optional<int64_t> max_steps;
  // In which the model's forward and backward pass compute.
  Precision precision = Precision::fp32;
  bool channels_last = false;
  double label_smoothing = 0;
  bool deterministic = false;
  OnNan on_nan = OnNan::stop;
  // Refused if the device has no graphs, or if batches have more than one size.
  bool cuda_graph = false;
  // Without it batches are read and moved to the device, which shows what that costs by itself.
  bool compute = true;
  // auto: as many as there are cores that this process may use.
  AutoCount threads;
  template <class V>
  void visit(V& v) {
    v("epochs", epochs, "The number of passes over the training samples.", Limits{1, 1e9});
    v("max_steps", max_steps, "Training stops after this number of steps.", Limits{1, 1e15});
    v("precision", precision,
      "With bf16 the model computes under autocast; weights and optimizer stay fp32.");
    v("channels_last", channels_last, "Use the memory format NHWC for convolutions.");
    v("label_smoothing", label_smoothing,
      "The share of the target that is divided equally among all classes (Szegedy et al. 2016, "
      "section 7).",
      Limits{0, 0.99});
    v("deterministic", deterministic, "A repetition gives equal losses on a CPU, at some cost.");
    v("on_nan", on_nan,
      same_results(
          "What happens when a loss, or weights that are to be saved, are NaN or infinite. stop "
          "ends "
          "the run with exit code 7, and the last checkpoint has finite weights; warn goes on."));
    v("cuda_graph", cuda_graph,
      "Launch forward and backward at once, as a graph that is captured the first time. Shapes and "
      "model have to stay the same.");
    v("compute", compute,
      "With false, batches are read and moved to the device, in evaluations too, and nothing is "
      "computed: there is no loss and no accuracy.");
    v("threads", threads, "The number of threads of LibTorch's kernels on the CPU.");
  }
};

// `evaluation:`, when the test split is evaluated, and what is measured.
struct EvaluationOptions {
  // At the end of the run, and only then where every_epochs is absent.
  bool enabled = true;
  std::optional<int64_t> every_epochs;
  Component<Metric> metric = default_component<Metric>("accuracy");
  template <class V>
  void visit(V& v) {
    v("enabled", enabled, "Evaluate on the test split at the end of the run.");
    v("every_epochs", every_epochs,
      "Evaluate whenever this number of epochs has ended, too. An emulated device evaluates only "
      "if this is given: the test split is read, and takes its time.",
      Limits{1, 1e9});
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
      "A window of LibTorch's profiler (Kineto, and CUPTI on a GPU) begins whenever this number of "
      "steps has been done; with 0 none does.",
      Limits{0, 1e9});
    v("steps", steps, "The length of a window in steps.", Limits{1, 1e6});
  }
  // A window has to be over when the next one begins.
  void check(const Section& section) const;
};

// `metrics.io_profile:`, when the I/O profiler has a session (IoWindow), and what it keeps. In
// steps.
struct IoProfileOptions {
  int64_t every_steps = 0;
  int64_t steps = 5;
  std::optional<Path> library;
  IoRecorderOptions recorder;
  template <class V>
  void visit(V& v) {
    v("every_steps", every_steps,
      "A session of the I/O profiler begins at the start and whenever this number of steps has "
      "been "
      "done; with 0 only when it is asked for (SIGUSR2, the live server).",
      Limits{0, 1e9});
    v("steps", steps, "The length of a session in steps.", Limits{1, 1e9});
    v("library", library,
      same_results("A libdarshan.so, built --without-mpi, that counts beside the profiler from the "
                   "first session on, and leaves its log as libdarshan.darshan."));
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
  // In the order in which they get a report. The list may be empty.
  std::vector<Component<MetricsSink>> sinks{default_component<MetricsSink>("console"),
                                            default_component<MetricsSink>("csv"),
                                            default_component<MetricsSink>("timeline")};
  template <class V>
  void visit(V& v) {
    v("every_steps", every_steps,
      "The number of steps between two reports. The loss is read for each.", Limits{1, 1e9});
    v("profile", profile, "When LibTorch's profiler runs.");
    v("io_profile", io_profile,
      "When the I/O profiler records every call on a file, and counts as Darshan does.");
    v("sinks", sinks, "Where reports go.");
  }
};

// A whole experiment as its YAML file says it. A value; reading it touches no data. A component in
// it is its type with its options, parsed and checked; Component::create() makes the thing itself,
// which app/experiment/experiment.h does in the right order.
struct ExperimentOptions : DataOptions {
  Component<Device> device = default_component<Device>("auto");
  Component<Model> model = default_component<Model>("alexnet");
  // For classes or for maps, as the model answers them.
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
    v("run", run, "The name, seed and place of the run.");
    v("plugins", plugins,
      same_results("Absolute paths of plug-ins, which are loaded before anything else is read."));
    v("device", device, "Where the model computes.");
    v("storage", storage, same_results("The storage tiers by name."));
    v.required("dataset", dataset, "The data set to train on.");
    v("decoder", decoder, "How the bytes of a sample become pixels.");
    v("loader", loader, "How batches reach the trainer.");
    v("model", model, "The network.");
    v("loss", loss, "What training makes small.");
    v("optimizer", optimizer, "How the weights are updated.");
    v("schedule", schedule, "The learning rate over the run.");
    v("training", training, "How long and how precisely to train.");
    v("distributed", distributed,
      same_results(
          "Many ranks train one model. They are started by torchrun, mpirun, srun, `stoker "
          "launch` or the like."));
    v("evaluation", evaluation, same_results("How good the model is on the test split."));
    v("checkpoint", checkpoint, same_results("How the state is saved, and where to."));
    v("metrics", metrics, same_results("What is reported, and where to."));
  }
};

// A command gets its experiment from one of the following functions, and nowhere else.

// Reads file and overrides ("a.b=c", the last one of a key counts), loads the plug-ins for the rest
// of the process, checks everything: each value, and what one section says of another. A
// checkpointer that names no tiers has directories below run.dir. note: told what an override of a
// type drops, in one line; empty: nobody is. Error(ExitCode::config) with the place in the file;
// ExitCode::environment for a file that cannot be read. One thread at a time.
ExperimentOptions read_experiment(const std::string& path,
                                  const std::vector<std::string>& overrides,
                                  const Notify& note = print_note);

// The experiment from its tree (load_experiment), which may be part of a larger file.
ExperimentOptions read_experiment_tree(const Node& root, const Notify& note = {});

// The resolved configuration, YAML that ends with a line break: every option with its value.
// read_experiment of it gives the same.
std::string resolved_yaml(const ExperimentOptions& options);

// The folders of this machine in which the files of its tiers lie, tier by tier.
std::vector<std::string> tier_folders(const ExperimentOptions& options);

// XXH3-64 of the resolved configuration in hex: equal for runs of the same experiment.
std::string config_hash(const ExperimentOptions& options);

// `stoker check`: prints the configuration with every default, as YAML or JSON. Touches no data.
// Error(ExitCode::config) as read_experiment.
ExitCode check_experiment(const ConfigArguments& arguments);

}  // namespace stoker
