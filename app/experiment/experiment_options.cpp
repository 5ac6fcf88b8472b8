#include "app/experiment/experiment_options.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/base/command_line.h"
#include "app/base/result_table.h"
#include "io/core/digest.h"
#include "io/core/text/json.h"
#include "io/experiment/saving_options.h"

namespace stoker {
namespace {

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
  check_data(options, root);
  if (options.training.cuda_graph) check_cuda_graph(options, root);
  if (!options.training.compute && options.device.info().emulated) {
    root.fail("training",
              "must not say compute: false where device.type is emulated, which "
              "computes nothing as it is: set training.compute=true, or device.type=cpu");
  }
  check_targets(options, root);
  check_checkpoint_tiers(options.checkpoint, options.storage, root);
  if (options.checkpoint.info().snapshot == "swap") check_swap(options, root);
}

}  // namespace

EnumNames<OnNan> enum_names(OnNan) { return {{"stop", OnNan::stop}, {"warn", OnNan::warn}}; }

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
                                  const std::vector<std::string>& overrides, const Notify& note) {
  return read_experiment_tree(load_experiment(path, overrides), note);
}

ExperimentOptions read_experiment_tree(const Node& root, const Notify& note) {
  ConfigContext context = begin_experiment(root);
  context.note = note;
  ExperimentOptions options;
  const Section section(root, "", "", &context);
  read_struct(section, options);
  add_checkpoint_tiers(options.checkpoint, options.run, options.storage);
  check_together(options, section);
  return options;
}

std::string resolved_yaml(const ExperimentOptions& options) {
  return to_yaml(dump_struct(options)) + "\n";
}

std::vector<std::string> tier_folders(const ExperimentOptions& options) {
  std::vector<std::string> folders;
  for (const auto& [name, tier] : options.storage) {
    const StorageInfo info = tier.info();
    folders.insert(folders.end(), info.folders.begin(), info.folders.end());
  }
  return folders;
}

std::string config_hash(const ExperimentOptions& options) {
  return xxh3_64(resolved_yaml(options));
}

namespace {

// What `list` and `describe` show of this half, from when this library is loaded.
const OtherHalf& shown = other_half() = {
    [] {
      return std::vector<ComponentKind>{component_kind<Device>(),    component_kind<Model>(),
                                        component_kind<Loss>(),      component_kind<Metric>(),
                                        component_kind<Optimizer>(), component_kind<Schedule>()};
    },
    [] { return describe_struct<ExperimentOptions>(); }};

}  // namespace

ExitCode check_experiment(const ConfigArguments& arguments) {
  const ExperimentOptions options = read_experiment(arguments.config, arguments.overrides);
  return print_result(arguments.json, to_json(dump_struct(options)), resolved_yaml(options), 2);
}

EnumNames<Precision> enum_names(Precision) {
  return {{"fp32", Precision::fp32}, {"bf16", Precision::bf16}};
}

bool cpu_has_bf16_kernels() {
  // The condition under which its convolutions and products take oneDNN; no header declares it.
  const auto op =
      c10::Dispatcher::singleton().findSchema({"mkldnn::_is_mkldnn_bf16_supported", ""});
  return op && op->typed<bool()>().call();
}

}  // namespace stoker
