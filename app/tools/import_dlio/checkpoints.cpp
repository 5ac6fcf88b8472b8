#include "app/tools/import_dlio/checkpoints.h"

#include <fmt/format.h>

#include <optional>

#include "app/tools/bench_checkpoint/shapes.h"
#include "io/core/text/text.h"

namespace stoker {
namespace {

std::optional<CheckpointShape> shape_of(const DlioModel& model) {
  for (const char* const name : {"llama3-8b", "llama3-70b", "llama3-405b", "llama3-1t"}) {
    CheckpointShape shape = find_shape(name);
    if (shape.hidden == model.hidden && shape.layers == model.layers && shape.ffn == model.ffn) {
      return shape;
    }
  }
  return std::nullopt;
}

}  // namespace

std::string checkpoint_command(const DlioWorkload& workload, std::vector<std::string>& remarks) {
  const DlioModel& model = workload.model;
  const std::optional<CheckpointShape> shape = shape_of(model);
  if (!workload.checkpoint || !shape) return "";
  const Parallel parallel{model.tensor, model.pipeline,
                          model.data > 0 ? model.data : shape->parallel.data};
  std::string command = fmt::format("stoker bench checkpoint {} --shape {}",
                                    shell_word(workload.checkpoint_folder), shape->name);
  if (!(parallel == shape->parallel)) command += " --parallel " + to_string(parallel);
  if (workload.checkpoints_written > 0) {
    command += fmt::format(" --rounds {}", workload.checkpoints_written);
  }
  command += " --rank 0";
  if (workload.checkpoint_mode == "subset") command += ",1,2,3,4,5,6,7";
  if (model.zero_stage != shape->zero_stage) {
    remarks.push_back(
        fmt::format("model.parallelism.zero_stage {}: {} has {} here, as in MLPerf "
                    "Storage",
                    model.zero_stage, shape->name, shape->zero_stage));
  }
  if (!workload.checkpoint_fsync) {
    remarks.push_back("checkpoint.fsync: a save ends here when it is on the medium, in any case");
  }
  remarks.push_back(
      "checkpoint: --rank names the ranks that save on this machine, one here: give as "
      "many as it has accelerators");
  return command;
}

}  // namespace stoker
